import type { Act } from '../hooks/use-act.ts'
import { Icon } from './icon.tsx'
import { sayCountdown } from './say-moment.ts'
import { sayProblem } from './say-problem.ts'

/** The room above a form's button where its failure is said. The room is there before the message. */
export function ActProblem({ act }: { act: Act }) {
  const waiting = act.waitSeconds > 0
  const words = waiting ? 'Too many tries. Wait a moment.' : act.error && sayProblem(act.error)
  return (
    <div className={waiting ? 'slot slot--wait' : 'slot slot--error'} role="alert">
      {words && <Icon name="alert" />}
      {words}
    </div>
  )
}

/** A button's words while its limit runs: "Log in" becomes "Try again in 0:42". */
export function limitedLabel(act: Act, label: string): string {
  return act.waitSeconds > 0 ? `Try again in ${sayCountdown(act.waitSeconds)}` : label
}
