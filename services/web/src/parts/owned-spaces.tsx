import type { OwnedSpace } from '@gatehouse/client'
import { Notice } from './notice.tsx'

/** The spaces that stand in the way of a deletion. */
export function OwnedSpaces({ spaces, whose = 'You own' }: { spaces: OwnedSpace[]; whose?: string }) {
  if (spaces.length === 0) return null
  return (
    <Notice tone="error">
      <p>{whose} spaces. Hand them over or delete them first; nothing was deleted.</p>
      <ul className="dots">
        {spaces.map((space) => (
          <li key={space.id}>{space.name}</li>
        ))}
      </ul>
    </Notice>
  )
}
