import { forgetReplicatedInstances } from '@gatehouse/contracts'
import { isRefusal } from '@gatehouse/runtime'
import type { Deps } from '../deps.ts'
import { policy } from '../policy.ts'

type Input = { userId: string; origins: string[]; requestId?: string | undefined }

/** A failure is only logged: the identities are gone already. The next deletion repeats it. */
export async function forgetInstances(deps: Pick<Deps, 'bus' | 'log'>, input: Input): Promise<void> {
  const { userId, origins, requestId } = input
  if (origins.length === 0) return
  for (let attempt = 1; attempt <= policy.forgetAttempts; attempt += 1) {
    try {
      const options = { requestId, timeoutMs: policy.forgetCallTimeoutMs }
      await deps.bus.request(forgetReplicatedInstances, { userId, origins }, options)
      return
    } catch (error) {
      deps.log.warn({ requestId, userId, attempt, err: error }, 'replicated instances not updated after deletion')
      if (isRefusal(error) && error.status < 500) return
    }
  }
}
