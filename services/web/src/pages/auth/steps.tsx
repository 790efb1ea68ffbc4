import { Lantern } from '../../parts/lantern.tsx'

/** Two lanterns: one for each step of the registration; those reached are lit. */
export function Steps({ now }: { now: 1 | 2 }) {
  return (
    <p className="steps">
      <Lantern lit />
      <Lantern lit={now === 2} />
      Step {now} of 2
    </p>
  )
}
