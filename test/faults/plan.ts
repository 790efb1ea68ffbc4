import type { Random } from '../fuzz/random.ts'
import type { Fault } from './faults.ts'

/** Rounds of all faults, each in an order of its own, while `goesOn`. The same numbers give the same faults. */
export function* planFaults(faults: readonly Fault[], random: Random, goesOn: () => boolean): Generator<Fault> {
  for (;;) {
    const rest = [...faults]
    while (rest.length > 0) {
      if (!goesOn()) return
      const [fault] = rest.splice(random.below(rest.length), 1)
      yield fault!
    }
  }
}
