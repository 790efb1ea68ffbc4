import { expect } from 'chai'
import type { LiveError } from '../api/errors.ts'
import { buildReady, buildToken, buildUser } from '../../test/builders.ts'
import { buildClient } from '../../test/harness.ts'
import { reconnectDelayMs } from '../wait.ts'

function buildLive() {
  const built = buildClient()
  built.client.session.initSession('t', buildUser())
  return { ...built, live: built.client.live }
}

describe('the live connection', () => {
  it('opens and closes with the session', () => {
    const { client, live, sockets } = buildLive()
    expect(sockets.opened.map(({ url }) => url)).to.deep.equal(['wss://home.example/ws'])
    expect(live.getSnapshot().phase).to.equal('connecting')

    client.logOut()

    expect(sockets.last().closed).to.equal(true)
    expect(live.getSnapshot()).to.include({ phase: 'off', sessionId: null })
  })

  it('sends auth with the token first, and is ready with the presences', () => {
    const { client, live, sockets } = buildLive()
    sockets.last().serverAccepts()
    expect(sockets.last().sent).to.deep.equal([{ type: 'auth', token: 't' }])

    sockets.last().serverSends(buildReady({ user: buildUser({ status: 'online' }), presences: { '1': 'online' } }))

    expect(live.getSnapshot()).to.deep.include({ phase: 'ready', sessionId: 's1', presences: { '1': 'online' } })
    expect(client.session.getSnapshot().user?.status).to.equal('online')
  })

  it('applies presence_update and passes every event to its listeners', () => {
    const { live, sockets } = buildLive()
    const heard: string[] = []
    live.onEvent(({ type }) => heard.push(type))
    sockets.last().serverSends(buildReady())

    sockets.last().serverSends({ type: 'presence_update', userId: '5', status: 'online' })
    sockets.last().serverSends({ type: 'presence_update', userId: '1', status: 'offline' })
    sockets.last().serverSends({ type: 'typing' })
    for (const noise of ['{', '7', 'null', '{"type":7}', '{"type":"presence_update","userId":5}']) {
      sockets.last().serverSends(noise)
    }

    expect(live.getSnapshot().presences).to.deep.equal({ '1': 'offline', '5': 'online' })
    expect(heard).to.deep.equal(['ready', 'presence_update', 'presence_update', 'typing', 'presence_update'])
  })

  it('sends to upstreams, and gives each answer to whom it belongs: replies, errors, none', async () => {
    const { live, sockets, clock } = buildLive()
    const early = await live.send('chat.say', {}).catch((error: LiveError) => error.code)
    sockets.last().serverSends(buildReady())
    const outcomes = ['a', 'b', 'c', 'd'].map((text) =>
      live.send('chat.say', { text, type: 'x', ref: 'y' }).catch((error: LiveError) => error.code),
    )

    sockets.last().serverSends({ type: 'error', code: 'message_refused', message: 'no', ref: '2' })
    sockets.last().serverSends({ type: 'reply', ref: '1', reply: { id: '7' } })
    sockets.last().serverSends({ type: 'reply', ref: '1', reply: { id: '8' } })
    sockets.last().serverSends({ type: 'error', code: 'rate_limited', message: 'Rate limited' })
    await clock.advance(10_000)
    const last = live.send('chat.say', {}).catch((error: LiveError) => error.code)
    sockets.last().serverCloses(1012)

    expect(sockets.opened[0]!.sent[0]).to.deep.equal({ text: 'a', type: 'chat.say', ref: '1' })
    expect([early, ...(await Promise.all([...outcomes, last]))]).to.deep.equal([
      'not_connected',
      { id: '7' },
      'message_refused',
      'no_answer',
      'no_answer',
      'disconnected',
    ])
  })

  it('gives listeners of one type only its events', () => {
    const { live, sockets } = buildLive()
    const heard: unknown[] = []
    const end = live.on('chat.said', (event) => heard.push(event))
    sockets.last().serverSends(buildReady())
    sockets.last().serverSends({ type: 'chat.said', text: 'hello' })
    end()
    sockets.last().serverSends({ type: 'chat.said', text: 'again' })

    expect(heard).to.deep.equal([{ type: 'chat.said', text: 'hello' }])
  })

  it('watches admin changes while there is a listener', () => {
    const { live, sockets } = buildLive()
    const heard: unknown[] = []
    const endFirst = live.watchAdmin((change) => heard.push(change?.what))
    expect(sockets.last().sent).to.deep.equal([])
    sockets.last().serverSends(buildReady())
    const endSecond = live.watchAdmin(() => undefined)
    sockets.last().serverSends({ type: 'admin_changed', what: 'invites', id: '5' })
    endFirst()
    sockets.last().serverSends({ type: 'admin_changed', what: 'users' })
    endSecond()
    endSecond()

    expect(heard).to.deep.equal(['invites'])
    expect(sockets.last().sent).to.deep.equal([
      { type: 'watch', topic: 'admin' },
      { type: 'unwatch', topic: 'admin' },
    ])
  })

  it('watches again after a reconnect, and says that changes may have been missed', async () => {
    const { live, clock, sockets } = buildLive()
    const heard: unknown[] = []
    sockets.last().serverSends(buildReady())
    live.watchAdmin((change) => heard.push(change))
    sockets.last().serverCloses(1001)
    await clock.advance(500)
    expect(heard).to.deep.equal([])

    sockets.last().serverSends(buildReady())

    expect(heard).to.deep.equal([null])
    expect(sockets.opened).to.have.length(2)
    expect(sockets.last().sent).to.deep.equal([{ type: 'watch', topic: 'admin' }])
  })

  it('asks again to watch when the service was unavailable', async () => {
    const { live, clock, sockets } = buildLive()
    sockets.last().serverSends(buildReady())
    live.watchAdmin(() => undefined)

    sockets.last().serverSends({ type: 'error', code: 'service_unavailable', requestType: 'chat.say' })
    sockets.last().serverSends({ type: 'error', code: 'service_unavailable', requestType: 'watch' })
    await clock.advance(5_000)

    expect(sockets.last().sent.map((sent) => (sent as { type: string }).type)).to.deep.equal(['watch', 'watch'])
  })

  for (const [code, reason] of [
    [4003, 'token_refused'],
    [4004, 'token_refused'],
    [4005, 'account_deleted'],
    [4010, 'password_reset'],
    [4011, 'account_deleted'],
  ] as const) {
    it(`ends the session on close code ${code} and does not reconnect`, async () => {
      const { client, clock, storage, sockets } = buildLive()

      sockets.last().serverCloses(code)
      await clock.advance(600_000)

      expect(client.session.getSnapshot().ended?.reason).to.equal(reason)
      expect(storage.values.size).to.equal(0)
      expect(sockets.opened).to.have.length(1)
    })
  }

  it('takes no close code for a word about the session where nothing of the server came before it', async () => {
    const { client, clock, sockets } = buildLive()

    sockets.last().breaks(4003)
    await clock.advance(500)
    sockets.last().serverAccepts()
    sockets.last().breaks(4004)
    await clock.advance(1_000)

    expect(sockets.opened).to.have.length(3)
    expect(client.session.getSnapshot()).to.include({ token: 't', ended: null })
  })

  for (const code of [1012, 1006, 1001, 4001, 4002]) {
    it(`reconnects after close code ${code}`, async () => {
      const { client, clock, live, sockets } = buildLive()

      sockets.last().serverCloses(code)
      expect(live.getSnapshot()).to.include({ phase: 'waiting', retryAt: clock.now() + 500 })
      await clock.advance(500)

      expect(sockets.opened).to.have.length(2)
      expect(client.session.getSnapshot().token).to.equal('t')
    })
  }

  it('does not reconnect by itself after close code 4008, but on retryNow', async () => {
    const { client, clock, live, sockets } = buildLive()

    sockets.last().serverCloses(4008)
    await clock.advance(600_000)
    expect(live.getSnapshot()).to.include({ phase: 'waiting', retryAt: null })
    expect(sockets.opened).to.have.length(1)
    expect(client.session.getSnapshot().token).to.equal('t')
    live.retryNow()

    expect(sockets.opened).to.have.length(2)
  })

  it('reconnects with jittered exponential backoff', () => {
    const upTo = (jitter: number) => [0, 1, 2, 3, 4, 5, 6, 1_000].map((attempt) => reconnectDelayMs(attempt, jitter))

    expect(upTo(0)).to.deep.equal([500, 1_000, 2_000, 4_000, 8_000, 15_000, 15_000, 15_000])
    expect(upTo(1)).to.deep.equal([1_000, 2_000, 4_000, 8_000, 16_000, 30_000, 30_000, 30_000])
  })

  it('increases the delay with each failure, also after a handshake, until a connection has lasted', async () => {
    const { clock, live, sockets } = buildLive()
    const waits: number[] = []
    const fail = async () => {
      sockets.last().serverSends(buildReady())
      sockets.last().breaks()
      waits.push((live.getSnapshot().retryAt ?? 0) - clock.now())
      await clock.advance(waits.at(-1) ?? 0)
    }
    await fail()
    await fail()
    await fail()
    sockets.last().serverSends(buildReady())
    await clock.advance(25_000)
    sockets.last().serverSends({ type: 'pong' })
    await fail()

    expect(waits).to.deep.equal([500, 1_000, 2_000, 500])
  })

  it('pings, and disconnects from a server that does not answer', async () => {
    const { clock, live, sockets } = buildLive()
    sockets.last().serverSends(buildReady())
    await clock.advance(25_000)
    expect(sockets.last().sent).to.deep.equal([{ type: 'ping' }])
    sockets.last().serverSends({ type: 'pong' })
    await clock.advance(25_000 + 9_999)
    expect(live.getSnapshot().phase).to.equal('ready')
    await clock.advance(1)

    expect(sockets.opened[0]?.closed).to.equal(true)
    expect(live.getSnapshot().phase).to.equal('waiting')
  })

  it('disconnects from a server that never sends ready', async () => {
    const { clock, live, sockets } = buildLive()
    sockets.last().serverAccepts()
    await clock.advance(15_000)

    expect(sockets.opened[0]?.closed).to.equal(true)
    expect(live.getSnapshot().phase).to.equal('waiting')
  })

  it('ignores events of a socket that it has closed', async () => {
    const { clock, live, sockets } = buildLive()
    await clock.advance(15_000)
    sockets.opened[0]?.serverSends(buildReady())
    sockets.opened[0]?.serverCloses(4003)

    expect(live.getSnapshot()).to.include({ phase: 'waiting', sessionId: null })
  })

  it('reconnects at once on retryNow', () => {
    const { live, sockets } = buildLive()
    sockets.last().breaks()

    live.retryNow()
    live.retryNow()

    expect(sockets.opened).to.have.length(2)
  })

  it('reconnects with the newer token when another tab changed the password', async () => {
    const { client, clock, storage, sockets } = buildClient()
    client.session.initSession(buildToken('1', 'old'), buildUser())
    storage.setItem('service_token', buildToken('1', 'new'))

    sockets.last().serverCloses(4004)
    await clock.advance(500)
    sockets.last().serverAccepts()

    expect(sockets.last().sent).to.deep.equal([{ type: 'auth', token: buildToken('1', 'new') }])
    expect(client.session.getSnapshot().user?.id).to.equal('1')
  })

  describe('after a change of the own password', () => {
    const fresh = { type: 'auth', token: 'fresh' }
    async function changePassword() {
      const built = buildLive()
      built.network.answer('POST https://home.example/api/users/@me/change-password', { body: { token: 'fresh' } })
      built.sockets.last().serverSends(buildReady())
      await built.client.changePassword({ currentPassword: 'a', newPassword: 'b' })
      return { ...built, socket: built.sockets.last() }
    }

    it('gives its socket the new token, and keeps it', async () => {
      const { client, sockets, socket } = await changePassword()

      socket.serverSends({ type: 'reauthenticate' })
      socket.serverSends({ type: 'authenticated' })

      expect(socket.sent.filter(({ token }) => token === 'fresh')).to.deep.equal([fresh])
      expect([sockets.opened.length, socket.closed]).to.deep.equal([1, false])
      expect(client.live.getSnapshot().phase).to.equal('ready')
    })

    it('waits with what is refused on the way, and watches again', async () => {
      const { client, sockets, socket } = await changePassword()
      const changes: unknown[] = []
      client.live.watchAdmin((change) => changes.push(change))

      socket.serverSends({ type: 'error', code: 'token_revoked', requestType: 'watch' })
      expect([sockets.opened.length, socket.closed, changes]).to.deep.equal([1, false, []])
      socket.serverSends({ type: 'authenticated' })

      expect(socket.sent.filter(({ type }) => type === 'watch')).to.have.length(2)
      expect(changes).to.deep.equal([null])
    })

    it('connects anew where the socket closes meanwhile, and ends no session by it', async () => {
      const { client, clock, sockets, socket } = await changePassword()

      socket.serverCloses(4004)
      await clock.advance(500)
      sockets.last().serverAccepts()

      expect(client.session.getSnapshot().token).to.equal('fresh')
      expect(sockets.last().sent).to.deep.equal([fresh])
      sockets.last().serverCloses(4004)
      expect(client.session.getSnapshot()).to.deep.include({ token: null })
    })

    it('connects anew to a server that takes a token in the handshake only', async () => {
      const { clock, sockets, socket } = await changePassword()

      socket.serverSends({ type: 'error', code: 'unknown_message_type', about: 'auth' })
      await clock.advance(500)
      sockets.last().serverAccepts()

      expect(sockets.opened).to.have.length(2)
      expect(sockets.last().sent).to.deep.equal([fresh])
    })

    it('gives the new token at `ready` where it came during the handshake', async () => {
      const { client, network, sockets } = buildLive()
      network.answer('POST https://home.example/api/users/@me/change-password', { body: { token: 'fresh' } })
      await client.changePassword({ currentPassword: 'a', newPassword: 'b' })
      expect(sockets.last().sent.filter(({ token }) => token === 'fresh')).to.deep.equal([])

      sockets.last().serverSends(buildReady())

      expect(sockets.opened).to.have.length(1)
      expect(sockets.last().sent.at(-1)).to.deep.equal(fresh)
    })
  })
})
