import { checkHomeEpoch } from '@gatehouse/contracts'
import { OutboundFailure, type OutboundAnswer } from '@gatehouse/outbound'
import { requestIdHeader } from '@gatehouse/service-kit'
import { z } from 'zod'
import type { Deps, OperationContext } from '../../deps.ts'
import { policy } from '../../policy.ts'

export type AskDeps = OperationContext & Pick<Deps, 'outbound' | 'config' | 'bus'>

/** `second_factor`: the password is right. `no_answer`: nothing that is a yes or a no. */
type HomeVerdict = 'confirmed' | 'refused' | 'second_factor' | 'no_answer'

type Asked = { homeInstance: string; username: string; password: string; requestId: string | undefined }

/** Both questions share the ten seconds. Throws `Unavailable`. docs/decisions/login-repair.md. */
export async function askHome(deps: AskDeps, asked: Asked): Promise<HomeVerdict> {
  const { homeInstance, username, password, requestId } = asked
  const { outbound, log, config, clock } = deps
  const endsAt = clock.now() + policy.homeCheckTimeoutMs
  try {
    const answer = await outbound.request({
      method: 'POST',
      url: `${homeScheme(config, homeInstance)}://${homeInstance}/api/auth/login`,
      headers: { 'content-type': 'application/json', ...(requestId && { [requestIdHeader]: requestId }) },
      body: JSON.stringify({ username, password }),
      timeoutMs: policy.homeCheckTimeoutMs,
    })
    // Its code is not asked for here: with it, this instance could log in there. docs/decisions/second-factor.md.
    if (answer.status === 401 && fits(secondFactorRequired, answer)) return 'second_factor'
    if (answer.status === 401 || answer.status === 403) return 'refused'
    const left = Math.min(endsAt - clock.now(), policy.homeCheckTimeoutMs)
    // Any web server may answer 200.
    if (answer.status !== 200 || !fits(credentials, answer) || left <= 0) return 'no_answer'
    return await judgeInstance(deps, { host: homeInstance, requestId, timeoutMs: left })
  } catch (error) {
    if (!(error instanceof OutboundFailure)) throw error
    log.warn({ homeInstance, requestId, reason: error.kind }, 'home instance unreachable at login')
    return 'no_answer'
  }
}

const credentials = z.object({ token: z.string().min(1) })
const secondFactorRequired = z.object({ code: z.literal('second_factor_required') })

function fits(schema: z.ZodType, { body }: OutboundAnswer): boolean {
  try {
    return schema.safeParse(JSON.parse(body.toString('utf8'))).success
  } catch {
    return false
  }
}

type Question = { host: string; requestId: string | undefined; timeoutMs: number }

/** Throws `Unavailable` where nobody can be asked: the password may be right. */
async function judgeInstance({ bus, log }: AskDeps, { host, requestId, timeoutMs }: Question): Promise<HomeVerdict> {
  const options = { requestId, timeoutMs: timeoutMs + policy.homeCallMarginMs }
  const { outcome } = await bus.request(checkHomeEpoch, { host, timeoutMs }, options)
  if (outcome === 'same' || outcome === 'unknown') return 'confirmed'
  log.warn({ homeInstance: host, requestId, outcome }, 'home instance not recognized at login')
  return outcome === 'changed' ? 'refused' : 'no_answer'
}

/** Plain http is for instances in FEDERATION_RESOLVE, while this one is served over http too. */
function homeScheme({ reach, publicAddress }: Deps['config'], homeInstance: string): 'http' | 'https' {
  const isResolvedByOperator = Object.hasOwn(reach.resolve, homeInstance)
  return isResolvedByOperator && publicAddress.origin.startsWith('http:') ? 'http' : 'https'
}
