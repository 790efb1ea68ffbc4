import { isRefusal } from '@gatehouse/runtime'
import type { Deps } from './deps.ts'
import type { Registered } from './operations/insert-account.ts'
import type { LoggedIn } from './operations/log-in.ts'

type Needs = Pick<Deps, 'metrics'>

/** Counts how registrations end: `created`, `upgraded`, or the code of the refusal. */
export function countRegistrations({ metrics }: Needs) {
  const counter = metrics.counter('gatehouse_registrations_total', 'Registrations by outcome', ['outcome'])
  const outcomeOf = ({ created }: Registered) => (created ? 'created' : 'upgraded')
  return countOutcomes(outcomeOf, (outcome) => counter.inc({ outcome }))
}

/** Counts how logins end: `accepted`, `healed`, or the code of the refusal. */
export function countLogins({ metrics }: Needs) {
  const counter = metrics.counter('gatehouse_logins_total', 'Logins by outcome', ['outcome'])
  const outcomeOf = ({ healed }: LoggedIn) => (healed ? 'healed' : 'accepted')
  return countOutcomes(outcomeOf, (outcome) => counter.inc({ outcome }))
}

function countOutcomes<T>(outcomeOf: (done: T) => string, count: (outcome: string) => void) {
  return async (work: Promise<T>): Promise<T> => {
    try {
      const done = await work
      count(outcomeOf(done))
      return done
    } catch (error) {
      count(isRefusal(error) ? error.code : 'failed')
      throw error
    }
  }
}
