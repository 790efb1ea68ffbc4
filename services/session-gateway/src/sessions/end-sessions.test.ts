import { setImmediate as turn } from 'node:timers/promises'
import type { AccountState } from '@gatehouse/contracts'
import { systemRandom } from '@gatehouse/runtime'
import { createMetrics } from '@gatehouse/service-kit'
import { buildAccountState, capturedLog } from '@gatehouse/test-kit'
import { manualTimer, movableClock } from '@gatehouse/test-kit/time'
import { expect } from 'chai'
import type { SessionSocket } from '../connection/session-socket.ts'
import { createSocketTimeouts } from '../connection/socket-timeouts.ts'
import { authenticate, type HandshakeDeps } from '../handshake/handshake.ts'
import { createSessionMetrics } from '../context.ts'
import { timings } from '../policy.ts'
import { endSessions, sessionEndings } from './end-sessions.ts'
import { createSessionRegistry } from './session-registry.ts'

/** The second in which the sessions end. */
const second = 1_000
const ended = buildAccountState({ version: 2, passwordChangedAt: second * 1000 + 500 })
const before = buildAccountState({ version: 1 })

describe('an event that ends sessions, and comes during a handshake', () => {
  for (const [name, state] of Object.entries({ ended, before })) {
    it(`leaves a token of its second alone, which is younger, in the account's state "${name}"`, async () => {
      const node = openNode()
      const handshake = await node.connect(second)

      node.end()
      await handshake.admitWith(state)

      expect(handshake.socket.phase).to.equal('ready')
      expect([handshake.codes, node.forcedOut()]).to.deep.equal([[], 0])
    })
  }

  it('ends earlier tokens before the account is read, and leaves those of a later second', async () => {
    const node = openNode()
    const [earlier, later] = [await node.connect(second - 1), await node.connect(second + 1)]

    node.end()
    await later.admitWith(before)

    expect([earlier.codes, later.codes]).to.deep.equal([[4004], []])
    expect(earlier.sent).to.deep.equal([{ type: 'error', message: 'Token has been revoked', code: 'token_revoked' }])
    expect(later.socket.phase).to.equal('ready')
  })

  it('counts as the latest of several, in whatever order they come', async () => {
    const node = openNode()
    await node.connect(second)

    node.end()
    node.end(second - 10)
    const handshake = await node.connect(second - 1)
    expect(handshake.codes).to.deep.equal([])
    await handshake.admitWith(before)

    expect(handshake.codes).to.deep.equal([4004])
  })
})

function openNode() {
  const sessions = createSessionRegistry()
  const clock = movableClock(second * 1000 + 900)
  const reads: ((state: AccountState) => void)[] = []
  const userConnected = () =>
    new Promise((resolve) => {
      reads.push((state) => {
        const user = { id: state.userId, username: state.username, isAdmin: false, createdAt: new Date(0) }
        const visible = { shared: Buffer.of(), others: Buffer.of() }
        resolve({ snapshot: { user, state, instanceName: 'Test', instanceId: 'test' }, visible })
      })
    })
  let forcedOut = 0
  const presence = { userConnected, markOnline() {}, userDisconnected() {}, forceOffline: () => (forcedOut += 1) }
  const context = { timer: manualTimer(), timings, clock }
  const counts = { authenticated: () => 0, unauthenticated: () => 0 }
  const sessionMetrics = createSessionMetrics(createMetrics(), counts)
  const onReleased = (socket: SessionSocket) => void sessions.remove(socket)
  const deps = {
    ...context,
    onReleased,
    random: systemRandom,
    log: capturedLog().log,
    // The token is its own second.
    tokens: {
      read: async (token: string) => ({ userId: ended.userId, iat: Number(token), exp: Number(token) + 3600 }),
    },
    sessions,
    presence,
    peering: { read: async () => ({ pendingApprovalCount: 0 }) },
    upstreams: { withReadyParts: [], withAudience: [] },
    timeouts: createSocketTimeouts({ ...context, sessionMetrics, onReleased }),
    sessionMetrics,
  } as unknown as HandshakeDeps

  return {
    forcedOut: () => forcedOut,
    end(at = second) {
      const user = sessions.find(ended.userId)
      if (user) endSessions(deps, user, { ...sessionEndings.SessionsEnded, second: at })
    },
    /** A client that offers a token of the second `iat`. */
    async connect(iat: number) {
      const codes: number[] = []
      const sent: unknown[] = []
      const socket = { phase: 'unauthenticated', quotaKey: '', resume() {}, pause() {} }
      const send = (message: Buffer) => void sent.push(JSON.parse(message.toString()))
      const opened = Object.assign(socket, { send, close: (code: number) => void codes.push(code) })
      const frame = Buffer.from(JSON.stringify({ type: 'auth', token: String(iat) }))
      const admitted = authenticate(deps, opened as unknown as SessionSocket, frame, false)
      await turn()
      const read = reads.at(-1)
      return {
        socket,
        codes,
        sent,
        /** The account was read for it, with this state. */
        async admitWith(state: AccountState) {
          read?.(state)
          await admitted
        },
      }
    },
  }
}
