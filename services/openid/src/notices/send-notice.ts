import type { NoticeChannel } from '@gatehouse/domain'
import { OutboundFailure, type OutboundAnswer } from '@gatehouse/outbound'
import type { Deps } from '../deps.ts'
import { noticePolicy } from './policy.ts'
import { tokenOf } from './tokens.ts'
import type { Fact } from './told-events.ts'

export type DueNotice = {
  id: string
  eventId: string
  event: Fact
  applicationId: string
  channel: NoticeChannel
  uri: string
  /** Of the application. */
  sector: string | null
}

/** `refused`: the receiver does not take this one, however often it comes. */
export type Outcome = { result: 'delivered' } | { result: 'refused' | 'failed'; error: string }

type SendDeps = Pick<Deps, 'outbound' | 'keyring' | 'subjects' | 'clock' | 'config'>

/**
 * One attempt. What the receiver does is an outcome, never an error.
 * OpenID Connect Back-Channel Logout 1.0, 2.5; RFC 8935, 2.
 */
export async function sendNotice(deps: SendDeps, notice: DueNotice): Promise<Outcome> {
  const { outbound, keyring, subjects, clock, config } = deps
  const { id, eventId, event, applicationId: audience, channel, uri: url, sector } = notice
  const [cause = ''] = eventId.split(':')
  const subject = 'accountId' in event ? await subjects.of(sector, event.accountId) : ''
  const to = { issuer: config.publicAddress.origin, audience, subject, id, cause, now: clock.now() }
  const { typ, payload } = tokenOf(event, to)
  const token = await keyring.sign(payload, { typ, algorithm: 'RS256' })
  const isLogout = channel === 'backchannel'
  const body = isLogout ? new URLSearchParams({ logout_token: token }).toString() : token
  const type = isLogout ? 'application/x-www-form-urlencoded' : 'application/secevent+jwt'
  const headers = { 'content-type': type, accept: 'application/json' }
  try {
    const answer = await outbound.request({ method: 'POST', url, headers, body, timeoutMs: noticePolicy.requestMs })
    return judge(answer)
  } catch (error) {
    if (error instanceof OutboundFailure) return { result: 'failed', error: error.kind }
    throw error
  }
}

function judge({ status, body }: OutboundAnswer): Outcome {
  if (status >= 200 && status <= 299) return { result: 'delivered' }
  const said = [String(status), ...reasonOf(body)].join(' ').slice(0, noticePolicy.errorLength)
  return { result: status === 400 ? 'refused' : 'failed', error: said }
}

/** RFC 8935, 2.3: `err` and `description`. Back-Channel Logout 1.0, 2.8: as OAuth. */
function reasonOf(body: Buffer): string[] {
  try {
    const said = JSON.parse(body.toString('utf8')) as Record<string, unknown> | null
    const words = [said?.['err'], said?.['error'], said?.['description'], said?.['error_description']]
    return words.filter((word) => typeof word === 'string').map((word) => word.replace(/[\p{C}\s]+/gu, ' '))
  } catch {
    return []
  }
}
