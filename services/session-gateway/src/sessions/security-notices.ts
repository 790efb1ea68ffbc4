import type { Subscription } from '@gatehouse/bus'
import { identityChanged, passkeyAdded, passkeyRemoved, secondFactorBlocked } from '@gatehouse/contracts'
import { secondFactorChanged } from '@gatehouse/contracts'
import type { SecurityNoticeMessage } from '@gatehouse/contracts'
import { sendText } from '../connection/send-text.ts'
import { encodeMessage } from '../connection/session-socket.ts'
import type { OperationContext } from '../context.ts'
import type { SessionRegistry } from './session-registry.ts'

const noticeEvents = [secondFactorChanged, secondFactorBlocked, passkeyAdded, passkeyRemoved, identityChanged] as const
const whatOfChange = {
  on: 'second_factor_on',
  off: 'second_factor_off',
  due: undefined,
  optional: undefined,
  linked: 'identity_linked',
  unlinked: 'identity_unlinked',
} as const
const whatOf = {
  SecondFactorBlocked: 'second_factor_blocked',
  PasskeyAdded: 'passkey_added',
  PasskeyRemoved: 'passkey_removed',
} as const

type NoticeDeps = Pick<OperationContext, 'bus' | 'sessionMetrics'> & { sessions: Pick<SessionRegistry, 'find'> }

/** Tells all sockets of an account what opens it, or no longer does. Contract: 3, Second factor, Passkeys, Identity providers. */
export async function subscribeSecurityNotices(deps: NoticeDeps): Promise<Subscription> {
  return await deps.bus.subscribe(noticeEvents, async ({ name, payload }) => {
    const isChange = name === 'SecondFactorChanged' || name === 'IdentityChanged'
    const what = isChange ? whatOfChange[payload.change] : whatOf[name]
    if (!what) return
    const message = encodeMessage({ type: 'security_notice', what, at: payload.at } satisfies SecurityNoticeMessage)
    for (const socket of deps.sessions.find(payload.userId)?.sockets ?? []) {
      if (socket.phase === 'ready') sendText(deps, socket, message)
    }
  })
}
