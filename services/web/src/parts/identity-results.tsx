import type { IdentityDeletion, IdentityDeletions } from '@gatehouse/client'
import { hostOf } from './host-of.ts'
import { Icon } from './icon.tsx'

const reasons: Record<string, string> = {
  no_active_peer: 'This instance is not a peer of your home instance.',
  owns_spaces: 'You own spaces there. Hand them over or delete them first:',
  timeout: 'It did not answer in time.',
  unreachable: 'It could not be reached.',
}

/** What became of one's identity on each instance. */
export function IdentityResults({ results }: { results: IdentityDeletions }) {
  return (
    <ul className="results">
      {Object.entries(results).map(([origin, result]) => (
        <li key={origin} className={result.success ? 'results__row' : 'results__row results__row--bad'}>
          <Icon name={result.success ? 'check' : 'alert'} />
          <span>
            <strong>{hostOf(origin)}</strong> <Outcome result={result} />
          </span>
        </li>
      ))}
    </ul>
  )
}

function Outcome({ result }: { result: IdentityDeletion }) {
  if (result.success) return <>Deleted.</>
  const spaces = result.ownedSpaces ?? []
  return (
    <>
      {reasons[result.error] ?? result.error} {spaces.map((space) => space.name).join(', ')}
    </>
  )
}
