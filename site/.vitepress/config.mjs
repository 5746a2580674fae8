// The site is made of the pages of the repository as they stand, which `rake site` copies to pages/.
import { readdirSync } from 'node:fs'
import { defineConfig } from 'vitepress'

const guides = [
  ['Recipes', 'docs/recipes'],
  ['The command', 'docs/command'],
  ['Switching from another client', 'docs/switching'],
  ['Rails and Puma', 'docs/rails'],
  ['Sidekiq', 'docs/sidekiq'],
  ['Testing', 'docs/testing'],
  ['Logging', 'docs/logging'],
  ['TLS and client certificates', 'docs/tls'],
  ['Downloads and uploads', 'docs/transfers'],
  ['Streams', 'docs/streams'],
  ['Many requests at once', 'docs/batches'],
  ['Millions of requests', 'docs/bulk'],
  ['Policies', 'docs/policies'],
  ['Deadlines', 'docs/deadlines'],
  ['Middleware', 'docs/middleware'],
  ['Breakers', 'docs/breaker'],
  ['Rates', 'docs/rate'],
  ['Caching', 'docs/cache'],
  ['Cookies', 'docs/cookies'],
  ['Who calls, and what goes away', 'docs/identity'],
  ['Seeing calls', 'docs/observability'],
  ['Numbers of pools and policies', 'docs/stats']
]

const reference = [
  ['Options', 'docs/options'],
  ['Timeouts', 'docs/timeouts'],
  ['Errors', 'docs/errors'],
  ['Limits', 'docs/limits'],
  ['Proxies, sockets, authentication', 'docs/proxies'],
  ['Egress', 'docs/egress'],
  ['HTTP/2', 'docs/http2'],
  ['Fibers', 'docs/fibers'],
  ['Names and addresses', 'docs/names'],
  ['Typhoeus, compared', 'docs/typhoeus'],
  ['Safety', 'docs/safety'],
  ['How far bulk runs go', 'docs/scale'],
  ['The two engines', 'docs/engines'],
  ['Packages', 'docs/packages'],
  ['Architecture', 'docs/architecture']
]

const gems = [
  ['trunkline', 'trunkline/README'],
  ['trunkline-xml', 'trunkline-xml/README'],
  ['trunkline-lab', 'trunkline-lab/README'],
  ['trunkline-bulk', 'trunkline-bulk/README']
]

const listed = [...guides, ...reference].map(([, page]) => `${page}.md`)
const absent = readdirSync('pages/docs').filter((name) => name.endsWith('.md') && !listed.includes(`docs/${name}`))
if (absent.length > 0) throw new Error(`pages that no menu names: ${absent.join(', ')}`)

const items = (pages) => pages.map(([text, page]) => ({ text, link: `/${page}` }))

// What the pages name in the repository, and the site does not have.
const inTheRepository = [/benchmark\//, /\/decisions\/(index)?$/, /LICENSE/, /CHANGELOG/, /CONTRIBUTING/, /SECURITY/, /\.rb$/]

// The tables hold types such as Array<String>, so HTML is text; comments are for the tasks that write parts of pages.
function withoutComments (md) {
  md.core.ruler.before('normalize', 'without_comments', (state) => {
    state.src = state.src.replace(/^<!--.*?-->$/gms, '')
  })
}

export default defineConfig({
  title: 'Trunkline',
  description: 'HTTP for Ruby services: fast, with exact timeouts, and nothing is sent twice',
  srcDir: 'pages',
  rewrites: { 'README.md': 'index.md' },
  outDir: '../tmp/site',
  cacheDir: '../tmp/site-cache',
  base: process.env.SITE_BASE || '/',
  ignoreDeadLinks: inTheRepository,
  markdown: { html: false, config: withoutComments },
  themeConfig: {
    search: { provider: 'local' },
    outline: [2, 3],
    nav: [{ text: 'Recipes', link: '/docs/recipes' }, { text: 'Options', link: '/docs/options' }, { text: 'Errors', link: '/docs/errors' }],
    sidebar: [
      { text: 'Trunkline', items: [{ text: 'Overview', link: '/' }] },
      { text: 'Guides', items: items(guides) },
      { text: 'Reference', items: items(reference) },
      { text: 'Gems', items: items(gems) }
    ]
  }
})
