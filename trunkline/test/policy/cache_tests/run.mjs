// Runs the tests of a checkout of http-tests/cache-tests, with its own server and its own checks, on a client that is
// in another process: each fetch is a line of JSON on descriptor 3, its answer a line on the standard input.
//
//   node run.mjs <checkout> <port>
//
// The last line on descriptor 3 is {"results": [{id, kind, outcome, message}]}.
import { createInterface } from 'node:readline'
import { register } from 'node:module'
import { writeSync } from 'node:fs'
import { pathToFileURL } from 'node:url'

const [checkout, port] = process.argv.slice(2)
const base = `http://127.0.0.1:${port}`
Object.assign(process.env, { npm_config_protocol: 'http', npm_config_port: port, npm_config_pidfile: '/dev/null' })

// What collects interim responses there asks for undici's Agent, which is not installed. fetch calls what it composes.
const agent = 'data:text/javascript,export class Agent { compose (interceptor) { return interceptor } }'
register(`data:text/javascript,${encodeURIComponent(`
  export const resolve = (name, context, next) =>
    name === 'undici' ? { url: ${JSON.stringify(agent)}, shortCircuit: true } : next(name, context)`)}`)

const part = path => import(pathToFileURL(`${checkout}/${path}`))
const report = value => writeSync(3, `${JSON.stringify(value)}\n`)

const waiting = new Map()
createInterface({ input: process.stdin }).on('line', line => {
  const answer = JSON.parse(line)
  waiting.get(answer.id)(answer)
  waiting.delete(answer.id)
})

let asBrowser = false
let calls = 0
globalThis.fetch = async (url, init = {}) => {
  const headers = [...(init.headers || [])].map(([name, value]) => [name, String(value)])
  // https://fetch.spec.whatwg.org/#http-network-or-cache-fetch
  if (asBrowser && init.cache === 'no-cache') headers.push(['Cache-Control', 'max-age=0'])
  const id = ++calls
  const answered = new Promise(resolve => waiting.set(id, resolve))
  report({ id, url, method: init.method || 'GET', headers, body: init.body, follow: init.redirect !== 'manual' })
  const answer = await answered
  if (answer.error) throw new TypeError(answer.error)
  if (init.dispatcher) {
    const replay = (_, handler) => answer.interim.forEach(([status, fields]) =>
      handler.onResponseStart(null, status, Object.fromEntries(fields.map(([name, value]) => [name.toLowerCase(), value]))))
    init.dispatcher(replay)({}, {})
  }
  return { status: answer.status, headers: new Headers(answer.headers), text: async () => answer.body }
}

const { default: suites } = await part('tests/index.mjs')
const { runTests, getResults } = await part('test-engine/client/runner.mjs')
const { determineTestResult, resultTypes } = await part('test-engine/lib/results.mjs')
await part('test-engine/server/server.mjs')

// Those for shared caches alone are left out: of CDNs, and what browsers skip because they share nothing.
const shared = test => test.cdn_only || (test.browser_skip && /\bshared\b/i.test(`${test.id} ${test.name}`))
const only = check => suites.map(suite => ({ ...suite, tests: suite.tests.filter(test => !shared(test) && check(test)) }))
await runTests(only(test => !test.browser_only), false, base)
asBrowser = true
await runTests(only(test => test.browser_only), true, base)

const outcomes = new Map(Object.entries(resultTypes).map(([name, type]) => [type, name]))
const results = getResults()
const found = suites.flatMap(suite => suite.tests).filter(test => test.id in results).map(test => ({
  id: test.id,
  kind: test.kind || 'required',
  outcome: outcomes.get(determineTestResult(suites, test.id, results, false)),
  message: results[test.id] === true ? null : results[test.id].join(': ')
}))
report({ results: found })
process.exit(0)
