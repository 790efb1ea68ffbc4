import { createMetrics } from '@gatehouse/service-kit'
import { buildAccountState, capturedLog } from '@gatehouse/test-kit'
import { manualTimer, movableClock } from '@gatehouse/test-kit/time'
import { expect } from 'chai'
import type { SessionSocket } from '../connection/session-socket.ts'
import { createSocketTimeouts, demandToken } from '../connection/socket-timeouts.ts'
import { createSessionMetrics } from '../context.ts'
import { timings } from '../policy.ts'
import { createSessionRegistry } from '../sessions/session-registry.ts'
import { reauthenticate, type ReauthenticationDeps } from './reauthenticate.ts'

const second = 1_000
const state = buildAccountState({ version: 1 })

/** Contract: 6, auth once more. */
describe('a token that a socket was given once more', () => {
  it('meets a demand only where it is newer: the account may have been read before the change', async () => {
    const { deps, socket } = openSocket()
    const early = reauthenticate(deps, socket, { type: 'auth', token: String(second) })
    demandToken(deps, socket)
    await early
    const isDemanded = [deps.timeouts.reauthentications.has(socket)]
    await reauthenticate(deps, socket, { type: 'auth', token: String(second + 1) })
    isDemanded.push(deps.timeouts.reauthentications.has(socket))

    expect(isDemanded).to.deep.equal([true, false])
  })

  it('replaces none that is newer', async () => {
    const { deps, socket } = openSocket()
    const claims: number[][] = []
    for (const iat of [second + 5, second + 3, second + 6]) {
      await reauthenticate(deps, socket, { type: 'auth', token: String(iat) })
      claims.push([socket.session.iat, socket.session.exp])
    }

    const [first, last] = [second + 5, second + 6].map((iat) => [iat, iat + 3600])
    expect(claims).to.deep.equal([first, first, last])
  })
})

/** It is ready, with a token of `second`. */
function openSocket() {
  const sessions = createSessionRegistry()
  const context = { timer: manualTimer(), timings, clock: movableClock((second + 10) * 1000) }
  const counts = { authenticated: () => 0, unauthenticated: () => 0 }
  const sessionMetrics = createSessionMetrics(createMetrics(), counts)
  const onReleased = (socket: SessionSocket) => void sessions.remove(socket)
  const deps = {
    ...context,
    onReleased,
    sessionMetrics,
    log: capturedLog().log,
    // The token is its own second.
    tokens: {
      read: async (token: string) => ({ userId: state.userId, iat: Number(token), exp: Number(token) + 3600 }),
    },
    accountStates: { find: async () => state },
    timeouts: createSocketTimeouts({ ...context, sessionMetrics, onReleased }),
  } as unknown as ReauthenticationDeps
  const opened = { phase: 'ready', readyState: 1, OPEN: 1, bufferedAmount: 0, unsentReadyBytes: 0, send() {} }
  const socket = sessions.add(opened as unknown as SessionSocket, state.userId, { iat: second, exp: second + 3600 })
  return { deps, socket }
}
