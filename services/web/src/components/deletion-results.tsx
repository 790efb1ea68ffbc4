import type { IdentityDeletion, IdentityDeletions, OwnedSpace } from '@gatehouse/client'
import { useState } from 'react'
import { hostOf } from './format.ts'
import { UserName } from './avatar.tsx'
import { Icon } from './icon.tsx'
import { Notice } from './status.tsx'
import { type Text, t, translate } from '../language/language.ts'

const reasons: Readonly<Record<string, Text>> = {
  no_active_peer: 'Not a peer of your home instance.',
  owns_spaces: 'You own spaces there. Transfer or delete them first:',
  not_connected: 'Not deleted, because you weren’t connected. Ask an admin of that instance to delete your account.',
  timeout: 'No response in time.',
  unreachable: 'Couldn’t be reached.',
}

export function DeletionResults({ results }: { results: IdentityDeletions }) {
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
  if (result.success) return <>{t('Deleted.')}</>
  const spaces = result.ownedSpaces ?? []
  const reason = reasons[result.error]
  return (
    <>
      {reason ? t(reason) : translate(result.error)} <UserName>{spaces.map((space) => space.name).join(', ')}</UserName>
      {result.order && t('Your instance will keep trying for 30 days.')}
    </>
  )
}

/** A retry adds its results to the earlier ones. */
export function useDeletionResults(): [IdentityDeletions | null, (results: IdentityDeletions) => void] {
  const [results, setResults] = useState<IdentityDeletions | null>(null)
  const addResults = (next: IdentityDeletions) => {
    if (Object.keys(next).length > 0) setResults((before) => ({ ...before, ...next }))
  }
  return [results, addResults]
}

export function OwnedSpaces({ spaces, text }: { spaces: OwnedSpace[]; text: Text }) {
  if (spaces.length === 0) return null
  return (
    <Notice tone="error" text={text}>
      <ul className="bullet-list">
        {spaces.map((space) => (
          <li key={space.id}>
            <UserName>{space.name}</UserName>
          </li>
        ))}
      </ul>
    </Notice>
  )
}
