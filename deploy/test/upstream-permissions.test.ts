import { execFileSync } from 'node:child_process'
import { randomUUID } from 'node:crypto'
import { mkdtempSync, readFileSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { connectNats, type Bus } from '@gatehouse/bus'
import { durableEvents, deletedPresence, userCreated } from '@gatehouse/contracts'
import { startNats } from '@gatehouse/local-servers'
import { buildAccountState, capturedLog, eventually } from '@gatehouse/test-kit'
import { connectUpstream, type UpstreamEvent } from '@gatehouse/upstream'
import { expect } from 'chai'
import { connect, Events } from 'nats'
import { eventNames, streamOf } from '../../libs/upstream/src/live/event-names.ts'

describe('upstreams with the users of NATS that make-secrets.sh makes', () => {
  const folder = mkdtempSync(join(tmpdir(), 'gatehouse-secrets-'))
  const scope = new AsyncDisposableStack()
  const secret = (name: string): string => readFileSync(join(folder, name), 'utf8')
  const errors: unknown[] = []
  let port: number
  let sessionGateway: Bus

  function urlOf(user: string): string {
    const url = new URL(secret(`nats_url_${user}`))
    return url.href.replace(url.host, `127.0.0.1:${port}`)
  }

  const connectAs = async (service: string) => {
    const options = { name: service, log: capturedLog().log, createsStreams: service === 'identity' }
    return scope.use(await connectNats({ url: urlOf(service), ...options }))
  }

  const connectChat = async () =>
    scope.use(
      await connectUpstream({ natsUrl: urlOf('upstream-chat'), name: 'chat', onError: (error) => errors.push(error) }),
    )

  const openManager = async () => {
    const { username: user, password: pass, host } = new URL(urlOf('identity'))
    const connection = await connect({ servers: host, user, pass, inboxPrefix: '_INBOX.identity' })
    scope.defer(() => connection.close())
    return await connection.jetstreamManager({ checkAPI: false })
  }
  const makeUnlimitedStream = async () =>
    (await openManager()).streams.add({ name: 'gatehouse-events', subjects: ['gatehouse.event.>'] })
  const limitOf = async (stream: string) => (await (await openManager()).streams.info(stream)).config.max_bytes

  before(async () => {
    execFileSync('sh', ['deploy/make-secrets.sh', folder, 'chat', 'voice'])
    const config = secret('nats.conf')
      .replace('include ./passwords.conf', secret('nats_passwords.conf'))
      .replace(/^(http|port): .*$/gm, '')
      .replace(/store_dir: .*/, '')
    const nats = scope.use(await startNats({ config }))
    port = nats.port
    await makeUnlimitedStream()
    sessionGateway = await connectAs('session-gateway')
    const events = [...durableEvents, deletedPresence]
    const wanted = events.map((event) => ({ name: `upstream_chat_${event.name}`, event }))
    scope.use(await sessionGateway.plain!.keepConsumers({ prefix: 'upstream_', wanted, ackWaitMs: 30_000 }))
  })
  after(async () => {
    await scope.disposeAsync()
    rmSync(folder, { recursive: true, force: true })
  })

  it('let identity, and nobody else, give a stream without a limit its limit', async () => {
    const before = await limitOf('gatehouse-events')
    await connectAs('identity')

    expect(before).to.equal(-1)
    expect(await limitOf('gatehouse-events')).to.equal(256 * 1024 * 1024)
    expect(await limitOf('gatehouse-changes')).to.equal(256 * 1024 * 1024)
  })

  it('let an upstream answer, deliver and get its events', async () => {
    const { plain } = sessionGateway
    const chat = await connectChat()
    const events: UpstreamEvent[] = []
    const delivered: string[] = []
    chat.onMessage(() => undefined)
    chat.onReady(() => ({ spaces: [] }))
    chat.onQuestion('audience', () => ({ groups: [] }))
    chat.onQuestion('members', () => ({ members: [] }))
    chat.onQuestion('ownedSpaces', () => ({ ownedSpaces: [] }))
    chat.onQuestion('export', () => ({ rows: [] }))
    chat.onQuestion('deletion', () => ({ done: true }))
    chat.onEvent((event) => void events.push(event))
    await plain!.subscribe('gatehouse.upstream.chat.deliver', (bytes) => void delivered.push(String(bytes.length)))

    const identity = await connectAs('identity')
    const ask = (asker: Bus, kind: string) =>
      eventually(`an answer to a ${kind}`, async () =>
        JSON.parse(
          Buffer.from(
            await asker.plain!.request(`gatehouse.upstream.chat.${kind}`, '{}', { timeoutMs: 5_000 }),
          ).toString(),
        ),
      )
    expect([
      await ask(sessionGateway, 'message'),
      await ask(sessionGateway, 'ready'),
      await ask(sessionGateway, 'audience'),
      await ask(sessionGateway, 'members'),
      await ask(identity, 'audience'),
      await ask(identity, 'owned-spaces'),
      await ask(identity, 'export'),
      await ask(identity, 'deletion'),
    ]).to.deep.equal([
      { ok: true },
      { spaces: [] },
      { groups: [] },
      { members: [] },
      { groups: [] },
      { ownedSpaces: [] },
      { rows: [] },
      { done: true },
    ])
    chat.deliver({ users: ['1'] }, { type: 'chat.text' })
    const payload = { userId: '42', at: 1, state: buildAccountState(), origin: 'local' } as const
    await identity.publish(userCreated, payload, { id: randomUUID() })

    await eventually('the delivery', () => delivered.length === 1)
    await eventually('the event', () => events.length === 1)
    expect(events[0]).to.deep.include({ name: 'UserCreated', payload, deliveries: 1 })
    expect(errors).to.deep.equal([])
    expect(eventNames).to.have.same.members([...durableEvents, deletedPresence].map(({ name }) => name))
    for (const { name, stream } of [...durableEvents, deletedPresence]) expect(streamOf(name), name).to.equal(stream)
  })

  it('let none read what is for another, publish events, speak as Gatehouse or deliver as another', async () => {
    const { username: user, password: pass, host } = new URL(urlOf('upstream-voice'))
    const voice = await connect({ servers: host, user, pass, inboxPrefix: '_INBOX_voice' })
    scope.defer(() => voice.close())
    const refused: string[] = []
    void (async () => {
      for await (const { type, permissionContext } of voice.status()) {
        if (type === Events.Error) refused.push(`${permissionContext?.operation} ${permissionContext?.subject}`)
      }
    })()
    const ofChat = 'gatehouse-changes.upstream_chat_UserCreated'
    const published = [
      'gatehouse.upstream.chat.deletion',
      'gatehouse.upstream.voice.deletion',
      'gatehouse.upstream.chat.deliver',
      'gatehouse.upstream.chat.message',
      'gatehouse.upstream.voice.message',
      'gatehouse.change.user.created.v1.1',
      'gatehouse.broadcast.event.user.presence-recorded.v1',
      `$JS.API.CONSUMER.MSG.NEXT.${ofChat}`,
      `$JS.API.CONSUMER.INFO.${ofChat}`,
      `$JS.ACK.${ofChat}.1.1.1.1.0`,
      '$JS.API.CONSUMER.CREATE.gatehouse-events',
      '$JS.API.CONSUMER.DELETE.gatehouse-changes.upstream_voice_UserCreated',
      '$JS.API.STREAM.MSG.GET.gatehouse-events',
      '$JS.API.DIRECT.GET.gatehouse-events',
      '_INBOX.answer',
    ]
    const subscribed = [
      'gatehouse.upstream.chat.deletion',
      'gatehouse.upstream.*.owned-spaces',
      'gatehouse.upstream.voice.other',
      'gatehouse.upstream.chat.message',
      'gatehouse.upstream.*.ready',
      'gatehouse.upstream.voice.deliver',
      'gatehouse.event.>',
      'gatehouse.change.>',
      'gatehouse.broadcast.>',
      '_INBOX.>',
      '_INBOX_chat.>',
      '>',
    ]

    for (const subject of published) voice.publish(subject, '{}')
    for (const subject of subscribed) voice.subscribe(subject, { callback: () => undefined })

    const expected = [
      ...published.map((subject) => `publish ${subject}`),
      ...subscribed.map((subject) => `subscription ${subject}`),
    ]
    await eventually('every refusal', () => refused.length >= expected.length)
    expect(refused).to.have.same.members(expected)
  })
})
