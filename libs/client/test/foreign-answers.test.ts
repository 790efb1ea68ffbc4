import { expect } from 'chai'
import { NetworkFailure } from '../src/api/errors.ts'
import { createClient, type Client } from '../src/client.ts'
import { exportData } from '../src/export/index.ts'
import type { Socket } from '../src/platform.ts'
import type { Store } from '../src/store.ts'
import { buildToken, buildUser } from './builders.ts'
import { createFakeClock } from './fake-clock.ts'
import { cut, foreignAnswers, ownRefusals, startServer, type Answer } from './foreign-answers.ts'
import { createFakeStorage } from './harness.ts'

const token = buildToken()

/** A browser with a session at one server and a connection to another, both of which answer everything alike. */
async function startScene(answer: Answer) {
  await using starting = new AsyncDisposableStack()
  const [home, other] = [starting.use(await startServer(answer)), starting.use(await startServer(answer))]
  const storage = createFakeStorage()
  const username = 'alice@home.example'
  const remote = {
    origin: other.origin,
    username,
    token: 'remote-token',
    ownPassword: true,
    pendingPasswordSync: false,
  }
  storage.setItem('service_token', token)
  storage.setItem('service_remotes', JSON.stringify({ userId: '1', remotes: [remote] }))
  const socketEnds: Promise<unknown>[] = []
  const openSocket = (url: string) => {
    const socket = new WebSocket(url)
    socketEnds.push(new Promise((resolve) => socket.addEventListener('close', resolve)))
    return socket as Socket
  }
  const client = createClient({ origin: home.origin, storage, clock: createFakeClock(), jitter: () => 0, openSocket })
  starting.defer(client.close)
  const stack = starting.move()
  return {
    client,
    other: other.origin,
    /** In place of an answer that the server does not give. */
    logIn: () =>
      client.session.initSession(token, buildUser({ replicatedInstances: [{ origin: other.origin, username }] })),
    stateThere: () => client.connections.find(other.origin)?.state,
    tokens: () => [
      client.session.getSnapshot().token,
      storage.getItem('service_token'),
      /"token":"([^"]+)"/.exec(storage.getItem('service_remotes') ?? '')?.[1] ?? null,
    ],
    socketEnds,
    [Symbol.asyncDispose]: () => stack.disposeAsync(),
  }
}

type Scene = Awaited<ReturnType<typeof startScene>>

/** Resolves when the store holds such a value. */
function until<T>(store: Store<T>, isSuch: (value: T) => boolean): Promise<void> {
  return new Promise((resolve) => {
    const look = () => {
      if (!isSuch(store.getSnapshot())) return
      unsubscribe()
      resolve()
    }
    const unsubscribe = store.subscribe(look)
    look()
  })
}

const failureOf = (work: Promise<unknown>): Promise<unknown> =>
  work.then(
    () => null,
    (error: unknown) => error,
  )

const requests: Readonly<Record<string, (client: Client) => Promise<unknown>>> = {
  'a request': (client) => client.call('patchSelf', { body: { bio: 'new' } }),
  'an upload': (client) => client.upload(new Blob(['image'], { type: 'image/png' })),
  'an export': (client) => exportData(client, { password: 'secret password' }),
}

async function requestIn({ client, logIn }: Scene, request: (client: Client) => Promise<unknown>): Promise<unknown> {
  logIn()
  return failureOf(request(client))
}

async function connectIn({ client, logIn, other }: Scene): Promise<void> {
  logIn()
  await until(client.connections, () => client.connections.find(other)?.state !== 'connecting')
}

const tokens = [token, token, 'remote-token']

/** Contract: 1, Foreign answers. */
describe('Foreign answers', () => {
  for (const [kind, answer] of Object.entries(foreignAnswers)) {
    describe(kind, () => {
      let scene: Scene
      beforeEach(async () => (scene = await startScene(answer)))
      afterEach(() => scene[Symbol.asyncDispose]())

      it('keeps the session at its start, which is tried again', async () => {
        void scene.client.session.loadUser()
        await until(scene.client.session, ({ reconnecting, ended }) => reconnecting || ended !== null)

        expect(scene.client.session.getSnapshot()).to.include({ reconnecting: true, user: null, ended: null })
        expect(scene.tokens()).to.deep.equal(tokens)
      })

      for (const [name, request] of Object.entries(requests)) {
        it(`to ${name} is an outage`, async () => {
          expect(await requestIn(scene, request)).to.be.instanceOf(NetworkFailure)

          expect(scene.tokens()).to.deep.equal(tokens)
        })
      }

      it('of another instance makes it unreachable', async () => {
        await connectIn(scene)

        expect(scene.stateThere()).to.equal('unreachable')
        expect(scene.tokens()).to.deep.equal(tokens)
      })

      it('to the upgrade of a socket, here and at another instance, keeps the session', async () => {
        await connectIn(scene)
        expect(scene.socketEnds).to.have.length(2)
        await Promise.all(scene.socketEnds)
        await until(scene.client.live, ({ phase }) => phase === 'waiting' || phase === 'off')

        expect(scene.client.live.getSnapshot().phase).to.equal('waiting')
        expect(scene.tokens()).to.deep.equal(tokens)
      })
    })
  }
})

describe('An archive that is cut', () => {
  it('is no archive, and keeps the session', async () => {
    await using scene = await startScene(cut(200, 'PK', 'application/zip'))

    expect(await requestIn(scene, requests['an export']!)).to.be.instanceOf(Error)

    expect(scene.tokens()).to.deep.equal(tokens)
  })
})

/** Contract: 1, Foreign answers. */
describe('A refusal of an instance', () => {
  for (const [kind, answer] of Object.entries(ownRefusals)) {
    describe(kind, () => {
      let scene: Scene
      beforeEach(async () => (scene = await startScene(answer)))
      afterEach(() => scene[Symbol.asyncDispose]())

      it('ends the session at its start', async () => {
        expect(await scene.client.session.loadUser()).to.equal(null)

        expect(scene.client.session.getSnapshot()).to.deep.include({ reconnecting: false })
        expect(scene.client.session.getSnapshot().ended?.reason).to.equal('token_refused')
        expect(scene.tokens().slice(0, 2)).to.deep.equal([null, null])
      })

      for (const [name, request] of Object.entries(requests)) {
        it(`to ${name} ends the session`, async () => {
          expect(await requestIn(scene, request)).to.include({ name: 'ApiError', status: 401 })

          expect(scene.tokens().slice(0, 2)).to.deep.equal([null, null])
        })
      }

      it('of another instance ends the session there alone', async () => {
        await connectIn(scene)

        expect(scene.stateThere()).to.equal('needs_password')
        expect(scene.tokens()).to.deep.equal([token, token, null])
      })

      it('to the upgrade of a socket leaves it to requests and messages to end the session', async () => {
        scene.logIn()
        await until(scene.client.live, ({ phase }) => phase === 'waiting' || phase === 'off')

        expect(scene.client.live.getSnapshot().phase).to.equal('waiting')
        expect(scene.tokens().slice(0, 2)).to.deep.equal([token, token])
      })
    })
  }
})
