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

// Wide tables scroll within a box of their own, which the keyboard reaches, too. On a telephone, tables of up to four
// columns become a list, where each cell says which column it is of: see theme/pages.css.
const kindOf = (columns) => columns > 4 ? 'wide' : 'listed'

function withTables (md) {
  md.core.ruler.push('columns_of_tables', ({ tokens }) => {
    let columns = []
    let cell = 0
    tokens.forEach((token, index) => {
      if (token.type === 'thead_open') columns = []
      else if (token.type === 'th_open') columns.push(textOf(tokens[index + 1]))
      else if (token.type === 'thead_close') headOf(tokens, index).attrJoin('class', kindOf(columns.length))
      else if (token.type === 'tr_open') cell = 0
      else if (token.type === 'td_open') token.attrSet('data-column', columns[cell++] ?? '')
    })
  })
  md.renderer.rules.table_open = (tokens, index, options, env, self) =>
    `<div class="table" tabindex="0">${self.renderToken(tokens, index, options)}`
  md.renderer.rules.table_close = () => '</table></div>\n'
}

const textOf = (inline) => inline.children.map(({ content }) => content).join('')
const headOf = (tokens, index) => tokens.slice(0, index).findLast(({ type }) => type === 'table_open')

export default defineConfig({
  title: 'Trunkline',
  description: 'HTTP for Ruby services: fast, with exact timeouts, and nothing is sent twice',
  srcDir: 'pages',
  rewrites: { 'README.md': 'index.md' },
  outDir: '../tmp/site',
  cacheDir: '../tmp/site-cache',
  base: process.env.SITE_BASE || '/',
  ignoreDeadLinks: inTheRepository,
  markdown: {
    html: false,
    config (md) {
      withoutComments(md)
      withTables(md)
    }
  },
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
