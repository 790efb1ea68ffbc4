import {
  callerKeyLines,
  createSigningKeys,
  signCaller,
  signOperator,
  type Caller,
  type CallerKeys,
} from '@gatehouse/auth'
import type { ServiceName } from '@gatehouse/contracts'

const secret = 'the secret that signs callers in tests of services'
const ofGateway = createSigningKeys('gateway', secret)
const ofOperator = createSigningKeys('operator', secret)

/** What a service holds that shall believe `signTestCaller`. */
export const testCallerKeys: CallerKeys = {
  lines: [...callerKeyLines('gateway', [secret]), ...callerKeyLines('operator', [secret])],
}

/** What the gateway, or the operator's command line, sends to a service as the caller. */
export function signTestCaller(audience: ServiceName, caller: Caller, now: number): string {
  return caller.operator
    ? signOperator(ofOperator, { audience, now })
    : signCaller(ofGateway, caller, { issuer: 'https://here.example', audience, now })
}
