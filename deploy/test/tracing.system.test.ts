import { join } from 'node:path'
import { expect } from 'chai'
import { createDataFolder, eventually, type ReceivedSpan, removeFolder, startOtlpReceiver } from '@gatehouse/test-kit'
import { callApi } from '../../test/api.ts'
import { postJson, startInstance } from './program.ts'
import { startTestCluster } from './test-cluster.ts'

const account = { username: 'ada', password: 'a long enough password' }
const changed = 'another long enough password'
const foreign = { trace: 'a'.repeat(32), header: `00-${'a'.repeat(32)}-${'b'.repeat(16)}-01` }

type Receiver = Awaited<ReturnType<typeof startOtlpReceiver>>

/** The spans of the request with this id, when the trace has all of `names`, each with or without its process. */
async function traceOf(receiver: Receiver, requestId: string, names: readonly string[]): Promise<ReceivedSpan[]> {
  return await eventually(
    `the trace of ${requestId} with ${names.join(', ')}`,
    () => {
      const root = receiver.spans.find(
        ({ attributes, parentSpanId }) => !parentSpanId && attributes['gatehouse.request_id'] === requestId,
      )
      const trace = receiver.spans.filter(({ traceId }) => traceId === root?.traceId)
      const received = new Set(trace.flatMap((span) => [span.name, nameInProcess(span)]))
      return names.every((name) => received.has(name)) ? trace : undefined
    },
    30_000,
  )
}

const nameInProcess = ({ process, name }: ReceivedSpan): string => `${process}: ${name}`

/** A span's name behind those of its parents, each with its process. */
function pathOf(span: ReceivedSpan, trace: readonly ReceivedSpan[]): string {
  const parent = trace.find(({ spanId }) => spanId === span.parentSpanId)
  return parent ? `${pathOf(parent, trace)} > ${nameInProcess(span)}` : nameInProcess(span)
}

/** Signs up, signs in and changes the password; the ids of these requests are `register`, `login` and `change`. */
async function use(origin: string): Promise<string[]> {
  const { body: registered } = await postJson(`${origin}/api/auth/register`, account, { 'x-request-id': 'register' })
  const headers = { 'x-request-id': 'login', traceparent: foreign.header, baggage: 'a=b' }
  const { body: signedIn } = await postJson(`${origin}/api/auth/login`, account, headers)
  const token = String(signedIn.token)
  const { body } = await callApi(origin, 'POST /api/users/@me/change-password', {
    token,
    body: { currentPassword: account.password, newPassword: changed },
    headers: { 'x-request-id': 'change' },
  })
  return [String(registered.token), token, String(body.token)]
}

function expectNoSecret({ bodies }: Receiver, tokens: readonly string[]): void {
  const text = bodies.join()
  for (const secret of [...tokens, account.password, changed, '$2b$', '127.0.0.1', 'baggage']) {
    expect(text.includes(secret), secret).to.equal(false)
  }
}

describe('Traces, where OTEL_EXPORTER_OTLP_ENDPOINT is set', () => {
  it('lead from the gateway through services, statements and the bus, without a secret', async () => {
    await using receiver = await startOtlpReceiver()
    await using cluster = await startTestCluster({ environment: { OTEL_EXPORTER_OTLP_ENDPOINT: receiver.url } })
    const tokens = await use(cluster.gateways[0]!)
    const loggedIn = await traceOf(receiver, 'login', [
      'gateway: POST /api/auth/login',
      'identity: POST /api/auth/login',
      'identity: SELECT',
    ])
    const changing = await traceOf(receiver, 'change', [
      'identity: POST /api/users/@me/change-password',
      'identity: publish PasswordChanged',
      'gateway: consume PasswordChanged',
    ])
    const paths = loggedIn.map((span) => pathOf(span, loggedIn))

    const toIdentity = 'gateway: POST /api/auth/login > gateway: forward to identity > identity: POST /api/auth/login'
    expect(paths).to.include.members([toIdentity, `${toIdentity} > identity: SELECT`])
    expect(new Set(receiver.spans.map(({ traceId }) => traceId)).has(foreign.trace), 'of the client').to.equal(false)
    expect(
      pathOf(
        changing.find(({ name }) => name.startsWith('consume '))!,
        changing,
      ),
    ).to.match(/identity: .*password > .*identity: publish PasswordChanged > \S+: consume PasswordChanged$/)
    expect(receiver.spans.filter(({ name }) => /healthz|readyz|metrics/.test(name))).to.deep.equal([])
    expectNoSecret(receiver, tokens)
  })

  it('lead through the embedded process too', async () => {
    const folder = await createDataFolder()
    try {
      await using receiver = await startOtlpReceiver()
      await using instance = await startInstance(join(folder, 'data'), { OTEL_EXPORTER_OTLP_ENDPOINT: receiver.url })
      const tokens = await use(instance.url)
      const trace = await traceOf(receiver, 'change', ['consume PasswordChanged', 'UPDATE'])

      expect(trace.map(({ attributes }) => attributes['gatehouse.service'])).to.include.members(['gateway', 'identity'])
      expectNoSecret(receiver, tokens)
    } finally {
      await removeFolder(folder)
    }
  })
})
