import type { Received } from '@gatehouse/bus'
import { passkeyAdded, passkeyRemoved, secondFactorChanged } from '@gatehouse/contracts'
import { sessionEndingEvents, userUnsuspended } from '@gatehouse/contracts'
import type { NoticeChannel } from '@gatehouse/domain'

type By = 'user' | 'admin'

/** What an application is told of an account. `at` in milliseconds. */
export type Fact = { at: number } & (
  | { kind: 'logout' | 'account-disabled' | 'account-enabled' | 'account-purged'; accountId: string }
  | { kind: 'session-revoked'; accountId: string; by: By }
  | { kind: 'credential-change'; accountId: string; by: By; credential: string; change: 'create' | 'update' | 'revoke' }
  | { kind: 'verification'; state?: string | undefined }
)
export type FactKind = Fact['kind']

export const channelOf = (kind: FactKind): NoticeChannel => (kind === 'logout' ? 'backchannel' : 'signals')

export const toldEvents = [
  ...sessionEndingEvents,
  userUnsuspended,
  secondFactorChanged,
  passkeyAdded,
  passkeyRemoved,
] as const
type ToldEvent = Received<(typeof toldEvents)[number]>

/** What ends sessions ends them everywhere; then what happened to the account. Contract: 3, Applications. */
export function factsOf({ name, payload }: ToldEvent): Fact[] {
  const of = { accountId: payload.userId, at: payload.at }
  const actorId = 'actor' in payload ? payload.actor?.userId : payload.userId
  const by = actorId === payload.userId ? 'user' : 'admin'
  const ended: Fact[] = [
    { kind: 'logout', ...of },
    { kind: 'session-revoked', ...of, by },
  ]
  const changed = (credential: string, change: 'create' | 'update' | 'revoke'): Fact => {
    return { kind: 'credential-change', ...of, by, credential, change }
  }
  switch (name) {
    case 'PasswordChanged':
    case 'PasswordReset':
      return [...ended, changed('password', 'update')]
    case 'SessionsEnded':
      return ended
    case 'UserSuspended':
      return [...ended, { kind: 'account-disabled', ...of }]
    case 'UserUnsuspended':
      return [{ kind: 'account-enabled', ...of }]
    case 'UserDeleted':
      return [...ended, { kind: 'account-purged', ...of }]
    case 'SecondFactorChanged':
      if (payload.change === 'on') return [changed('app', 'create')]
      return payload.change === 'off' ? [changed('app', 'revoke')] : []
    // Whether it is on one device is not known: a type that both sides agree on. CAEP 1.0, 3.3.1.
    case 'PasskeyAdded':
      return [changed('passkey', 'create')]
    case 'PasskeyRemoved':
      return [changed('passkey', 'revoke')]
  }
}
