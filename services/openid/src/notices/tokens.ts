import type { JWTPayload } from 'jose'
import { noticePolicy } from './policy.ts'
import type { Fact } from './told-events.ts'

const caep = 'https://schemas.openid.net/secevent/caep/event-type/'
const risc = 'https://schemas.openid.net/secevent/risc/event-type/'

/**
 * Each signal has exactly one of them, as the key in `events`.
 * OpenID CAEP 1.0, RISC Profile 1.0, Shared Signals Framework 1.0.
 */
export const signalUris = {
  'session-revoked': `${caep}session-revoked`,
  'credential-change': `${caep}credential-change`,
  'account-disabled': `${risc}account-disabled`,
  'account-enabled': `${risc}account-enabled`,
  'account-purged': `${risc}account-purged`,
  verification: 'https://schemas.openid.net/secevent/ssf/event-type/verification',
} as const
const logoutUri = 'http://schemas.openid.net/event/backchannel-logout'

type Addressing = {
  issuer: string
  /** The client_id. */
  audience: string
  /** By whom the application knows the person. Empty: the event is of no person. */
  subject: string
  /** The same for each attempt, so that a receiver knows a repeated one. */
  id: string
  /** The same for all tokens of one cause. */
  cause: string
  now: number
}
type Token = { typ: string; payload: JWTPayload }

export function tokenOf(fact: Fact, { issuer, audience, subject: sub, id, cause, now }: Addressing): Token {
  const iat = Math.floor(now / 1000)
  const common = { iss: issuer, aud: audience, iat, jti: id }
  if (fact.kind === 'logout') {
    const exp = iat + noticePolicy.logoutTokenSeconds
    return { typ: 'logout+jwt', payload: { ...common, exp, sub, events: { [logoutUri]: {} } } }
  }
  const isOfStream = fact.kind === 'verification'
  const subject = isOfStream ? { format: 'opaque', id: audience } : { format: 'iss_sub', iss: issuer, sub }
  const events = { [signalUris[fact.kind]]: detailsOf(fact) }
  // No `sub` and no `exp`: it must not pass for a token of another kind. SSF 1.0, 4.1.
  const toe = Math.floor(fact.at / 1000)
  return { typ: 'secevent+jwt', payload: { ...common, txn: cause, toe, sub_id: subject, events } }
}

function detailsOf(fact: Fact): object {
  const event_timestamp = Math.floor(fact.at / 1000)
  switch (fact.kind) {
    case 'verification':
      return fact.state === undefined ? {} : { state: fact.state }
    case 'session-revoked':
      return { event_timestamp, initiating_entity: fact.by }
    case 'credential-change': {
      const { credential: credential_type, change: change_type, by: initiating_entity } = fact
      return { event_timestamp, credential_type, change_type, initiating_entity }
    }
    case 'logout':
    case 'account-disabled':
    case 'account-enabled':
    case 'account-purged':
      return {}
  }
}
