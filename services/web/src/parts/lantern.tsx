/** Presence: a lit lantern for who is here. Words beside it say the same. */
export function Lantern({ lit }: { lit: boolean }) {
  return <span className={lit ? 'lantern lantern--lit' : 'lantern'} aria-hidden="true" />
}
