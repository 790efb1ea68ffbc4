import { checkHomeEpoch, parseUrl } from '@gatehouse/contracts'
import { Peer, strangerStatuses, type User } from '@gatehouse/domain'
import { OutboundFailure, type OutboundAnswer } from '@gatehouse/outbound'
import { Unavailable } from '@gatehouse/runtime'
import { requestIdHeader } from '@gatehouse/service-kit'
import { z } from 'zod'
import type { Deps, OperationContext } from '../../deps.ts'
import { policy } from '../../policy.ts'
import { isOfFormerInstance } from '../../queries/load-user.ts'
import { judgeHomeUserId } from './judge-home-user-id.ts'

export type AskDeps = OperationContext & Pick<Deps, 'outbound' | 'config' | 'bus'>

/** `second_factor`: the password is right. `no_answer`: nothing that is a yes or a no. */
type NotConfirmed = { verdict: 'refused' | 'second_factor' | 'no_answer' }

/** `homeUserId`: that of the account, which it may not hold yet. */
type HomeAnswer = NotConfirmed | { verdict: 'confirmed'; homeUserId: string }

/** `username`: what `findNameAtHome` gave. `endsAt`: of all questions about this login, from `homeCheckEnds`. */
type HomeQuestion = { account: User; username: string; password: string; requestId: string | undefined; endsAt: number }

/** One limit for all requests of a login to the home. Spec: Login 5. */
export const homeCheckEnds = ({ clock }: Pick<Deps, 'clock'>): number => clock.now() + policy.homeCheckTimeoutMs

/**
 * Whether the password is that of the account's user at home. All questions share the ten seconds. Throws `Unavailable`.
 * docs/decisions/accounts-and-their-home.md.
 */
export async function askHome(deps: AskDeps, question: HomeQuestion): Promise<HomeAnswer> {
  const { account, username, password, requestId, endsAt } = question
  const homeInstance = account.homeInstance ?? ''
  const { outbound, log, config, clock } = deps
  const left = () => Math.min(endsAt - clock.now(), policy.homeCheckTimeoutMs)
  const timeoutMs = left()
  if (timeoutMs <= 0) return { verdict: 'no_answer' }
  try {
    const answer = await outbound.request({
      method: 'POST',
      url: `${homeScheme(config, homeInstance)}://${homeInstance}/api/auth/login`,
      headers: { 'content-type': 'application/json', ...(requestId && { [requestIdHeader]: requestId }) },
      body: JSON.stringify({ username, password }),
      timeoutMs,
    })
    // Its code is not asked for here: with it, this instance could log in there. docs/decisions/two-factor.md.
    if (answer.status === 401 && read(secondFactorRequired, answer)) return { verdict: 'second_factor' }
    if (answer.status === 401 || answer.status === 403) return { verdict: 'refused' }
    const rest = left()
    // Any web server may answer 200.
    const signedIn = answer.status === 200 ? read(credentials, answer) : undefined
    if (!signedIn || rest <= 0) return { verdict: 'no_answer' }
    const unrecognized = await judgeInstance(deps, { account, host: homeInstance, requestId, timeoutMs: rest })
    if (unrecognized) return unrecognized
    const homeUserId = await judgeHomeUserId(deps, { account, answered: signedIn.user.id, requestId })
    return homeUserId === null ? { verdict: 'refused' } : { verdict: 'confirmed', homeUserId }
  } catch (error) {
    if (!(error instanceof OutboundFailure)) throw error
    log.warn({ homeInstance, requestId, reason: error.kind }, 'home instance unreachable at login')
    return { verdict: 'no_answer' }
  }
}

/** Existing instances always name the user. An id of another type is that of another user. */
const credentials = z.object({
  token: z.string().min(1),
  user: z.object({ id: z.unknown().refine((id) => id !== undefined && id !== null) }),
})
const secondFactorRequired = z.object({ code: z.literal('second_factor_required') })

function read<T>(schema: z.ZodType<T>, { body }: OutboundAnswer): T | undefined {
  try {
    return schema.safeParse(JSON.parse(body.toString('utf8'))).data
  } catch {
    return undefined
  }
}

type Question = { account: User; host: string; requestId: string | undefined; timeoutMs: number }

/** Undefined where nothing speaks against it. Throws `Unavailable`. */
async function judgeInstance(
  deps: AskDeps,
  { account, host, requestId, timeoutMs }: Question,
): Promise<NotConfirmed | undefined> {
  const { bus, log } = deps
  const options = { requestId, timeoutMs: timeoutMs + policy.homeCallMarginMs }
  const reply = bus.request(checkHomeEpoch, { host, timeoutMs }, options)
  const answer = await answerAbout(deps, { host, reply, ofStranger: { outcome: 'unknown' } })
  // After the word on the peer: a new peering may have made another instance the known one.
  const outcome = (await isOfFormerInstance(deps.orm.em.fork(), account)) ? 'changed' : answer.outcome
  if (outcome === 'same' || outcome === 'unknown') return undefined
  log.warn({ homeInstance: host, requestId, outcome }, 'home instance not recognized at login')
  return { verdict: outcome === 'changed' ? 'refused' : 'no_answer' }
}

type AboutHome<T> = { host: string; reply: Promise<T>; ofStranger: T }

/**
 * What federation-fanout says of a home, and of a stranger also while it or NATS is away. Throws `Unavailable` for a peer:
 * the password may be right. Contract: 7, Login repair.
 */
export async function answerAbout<T>(
  { orm }: Pick<Deps, 'orm'>,
  { host, reply, ofStranger }: AboutHome<T>,
): Promise<T> {
  return await reply.catch(async (error: unknown) => {
    if (!(error instanceof Unavailable)) throw error
    // As federation-fanout reads a host.
    const name = parseUrl(`https://${host}`)?.hostname ?? host
    const peerCount = await orm.em.fork().count(Peer, { host: name, status: { $nin: [...strangerStatuses] } })
    if (peerCount > 0) throw error
    return ofStranger
  })
}

/** Plain http is for instances in FEDERATION_RESOLVE, while this one is served over http too. */
function homeScheme({ reach, publicAddress }: Deps['config'], homeInstance: string): 'http' | 'https' {
  const isResolvedByOperator = Object.hasOwn(reach.resolve, homeInstance)
  return isResolvedByOperator && publicAddress.origin.startsWith('http:') ? 'http' : 'https'
}
