import { once } from 'node:events'
import { expect } from 'chai'
import { WebSocket } from 'ws'
import { startTestCluster } from '../deploy/test/test-cluster.ts'
import { callApi } from './api.ts'
import { startInstance } from './instance.ts'

type Place = AsyncDisposable & { origin: string }

/** The same path through both ways of running: a client sees no difference. */
const places: Record<string, () => Promise<Place>> = {
  embedded: async () => {
    const instance = await startInstance()
    return { origin: instance.url, [Symbol.asyncDispose]: () => instance[Symbol.asyncDispose]() }
  },
  distributed: async () => {
    const cluster = await startTestCluster()
    return { origin: cluster.gateways[0]!, [Symbol.asyncDispose]: () => cluster[Symbol.asyncDispose]() }
  },
}

const ada = { username: 'Ada', password: 'correct horse' }

for (const [name, start] of Object.entries(places)) {
  describe(`one person's life, ${name}`, () => {
    let place: Place
    let token: string

    before(async () => {
      place = await start()
    })
    after(async () => {
      await place[Symbol.asyncDispose]()
    })

    it('registers, and becomes the first admin', async () => {
      const { status, body } = await callApi(place.origin, 'POST /api/auth/register', { body: ada })

      expect(status).to.equal(201)
      expect(body.user).to.include({ username: 'ada', status: 'offline', isAdmin: true, showActivity: true })
    })

    it('logs in and reads their own account', async () => {
      const login = await callApi(place.origin, 'POST /api/auth/login', { body: ada })
      token = login.body.token!
      const self = await callApi(place.origin, 'GET /api/users/@me', { token })

      expect(login.status).to.equal(200)
      expect(self.body).to.deep.equal(login.body.user)
    })

    it('opens a socket, authenticates, and is shown online', async () => {
      const ready = await openSocket(place.origin, token)

      expect(ready.message).to.include({ type: 'ready' })
      expect((await callApi(place.origin, 'GET /api/users/@me', { token })).body).to.include({ status: 'online' })
      ready.socket.close()
    })

    it('changes the password, after which the old token is dead at once on REST and on sockets', async () => {
      const change = { currentPassword: ada.password, newPassword: 'battery staple' }
      const { body } = await callApi(place.origin, 'POST /api/users/@me/change-password', { token, body: change })
      const old = await callApi(place.origin, 'GET /api/users/@me', { token })
      const fresh = await callApi(place.origin, 'GET /api/users/@me', { token: body.token })
      const refused = await openSocket(place.origin, token)

      expect(old).to.deep.include({
        status: 401,
        body: { error: 'Token has been revoked', statusCode: 401, code: 'token_revoked' },
      })
      expect(fresh.status).to.equal(200)
      expect(refused.message).to.deep.equal({ type: 'error', message: 'Token has been revoked', code: 'token_revoked' })
      expect(await refused.closeCode).to.equal(4004)
      token = body.token!
    })

    it('ends all sessions, after which the socket of a token of the same second is closed', async () => {
      const open = await openSocket(place.origin, token)
      const body = { password: 'battery staple' }
      const ended = await callApi(place.origin, 'POST /api/users/@me/sessions/end', { token, body })

      expect([open.message['type'], ended.status]).to.deep.equal(['ready', 200])
      expect(await open.closeCode).to.equal(4004)
      expect((await callApi(place.origin, 'GET /api/users/@me', { token })).status).to.equal(401)
    })
  })
}

async function openSocket(origin: string, token: string) {
  const socket = new WebSocket(`${origin.replace('http', 'ws')}/ws`)
  const closeCode = once(socket, 'close').then(([code]) => code as number)
  await once(socket, 'open')
  socket.send(JSON.stringify({ type: 'auth', token }))
  const [data] = (await once(socket, 'message')) as [Buffer]
  return { socket, closeCode, message: JSON.parse(String(data)) as Record<string, unknown> }
}
