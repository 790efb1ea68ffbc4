import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { join } from 'node:path'
import { text } from 'node:stream/consumers'
import { currentSpan, runInSpan } from '@gatehouse/runtime'
import { capturedLog, eventually, freePort, startOtlpReceiver } from '@gatehouse/test-kit'
import { expect } from 'chai'
import { openTracing } from '../resources/open-resources.ts'
import { parseTraceparent } from './otlp-tracing.ts'

describe('Tracing', () => {
  const { log, lines } = capturedLog()
  const trace = 'c'.repeat(32)

  it('sends spans with their parents, of this process and of another one, and the rest when it is closed', async () => {
    await using receiver = await startOtlpReceiver()
    const tracing = await openTracing('identity', { endpoint: `${receiver.url}/`, share: 1 }, log)
    const parent = `00-${trace}-${'d'.repeat(16)}-01`
    const root = tracing.startSpan('GET', 'server', { parent })
    await runInSpan(root, async () => {
      currentSpan()?.startChild('SELECT', 'client', { 'db.system.name': 'postgresql' }).end()
      root.rename('GET /users')
    })
    await tracing[Symbol.asyncDispose]()

    const [child, server] = receiver.spans
    expect(server).to.include({ process: 'identity', name: 'GET /users', traceId: trace, parentSpanId: 'd'.repeat(16) })
    expect(child).to.include({ name: 'SELECT', traceId: trace, parentSpanId: server!.spanId })
    expect(root.traceparent).to.equal(`00-${trace}-${server!.spanId}-01`)
    expect(currentSpan()).to.equal(undefined)
  })

  it('keeps the kind of a failure, and not its message', async () => {
    await using receiver = await startOtlpReceiver()
    const tracing = await openTracing('identity', { endpoint: receiver.url, share: 1 }, log)
    const fault = Object.assign(new Error('row (ada, hash) is there already'), { code: '23505' })
    const failed = runInSpan(tracing.startSpan('INSERT', 'client'), () => Promise.reject(fault))
    expect(await failed.catch((error: unknown) => error)).to.equal(fault)
    await tracing[Symbol.asyncDispose]()

    expect(receiver.spans[0]!.attributes).to.deep.equal({ 'error.type': '23505' })
    expect(receiver.bodies.join()).to.not.include('hash')
  })

  it('records the share of traces that is asked for, and those whose beginning was recorded', async () => {
    await using receiver = await startOtlpReceiver()
    const tracing = await openTracing('identity', { endpoint: receiver.url, share: 0 }, log)
    const dropped = tracing.startSpan('dropped', 'server')
    dropped.startChild('its child', 'client').end()
    dropped.end()
    tracing.startSpan('kept', 'server', { parent: `00-${trace}-${'d'.repeat(16)}-01` }).end()
    await tracing[Symbol.asyncDispose]()

    expect(dropped.traceparent).to.match(/-00$/)
    expect(receiver.spans.map(({ name }) => name)).to.deep.equal(['kept'])
  })

  it('begins a trace where the traceparent is none', () => {
    expect(parseTraceparent(`00-${trace}-${'d'.repeat(16)}-01`)).to.include({ traceId: trace, traceFlags: 1 })
    const malformed = [undefined, '', 'x', `01-${trace}-${'d'.repeat(16)}-01`, `00-${trace}-${'0'.repeat(16)}-01`]
    malformed.push(`00-${'0'.repeat(32)}-${'d'.repeat(16)}-01`, `00-${trace}-${'d'.repeat(16)}-01-more`)
    for (const header of malformed) expect(parseTraceparent(header), header).to.equal(undefined)
  })

  it('logs one warning while no receiver answers, and goes on', async () => {
    const endpoint = `http://127.0.0.1:${await freePort()}`
    const tracing = await openTracing('identity', { endpoint, share: 1 }, log)
    tracing.startSpan('lost', 'server').end()
    await tracing[Symbol.asyncDispose]()

    const warnings = await eventually('the warning', () => {
      const matches = lines.filter(({ msg }) => String(msg).startsWith('traces cannot be exported'))
      return matches.length > 0 && matches
    })
    expect(warnings).to.have.length(1)
  })

  it('is not even loaded by a process without an endpoint', async () => {
    expect(await modulesOf('{}')).to.equal(0)
    expect(await modulesOf(`{ tracing: { endpoint: 'http://127.0.0.1:1', share: 1 } }`)).to.be.greaterThan(3)
  })
})

/** How often a process with the code of the gateway, and resources of `options`, asks for the SDK or the exporter. */
async function modulesOf(options: string): Promise<number> {
  const root = join(import.meta.dirname, '../../../..')
  const script = `
    import { registerHooks } from 'node:module'
    let count = 0
    registerHooks({ resolve: (name, context, next) => { if (/opentelemetry.(sdk|exporter)/.test(name)) count++; return next(name, context) } })
    await import('${root}/gateway/src/service.ts')
    const { openResources } = await import('${root}/libs/service-kit/src/index.ts')
    await openResources('gateway', { logLevel: 'silent', ...${options} })
    console.log(count)
    process.exit()`
  const args = ['--disable-warning=ExperimentalWarning', '--input-type=module', '--eval', script]
  const child = spawn(process.execPath, args, { stdio: ['ignore', 'pipe', 'inherit'] })
  const [output] = await Promise.all([text(child.stdout), once(child, 'close')])
  return Number(output)
}
