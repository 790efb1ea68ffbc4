import type { ReactNode } from 'react'
import { Icon, type IconName } from './icon.tsx'

/** What stands where a list would be. */
export function Empty({ icon, children }: { icon: IconName; children: ReactNode }) {
  return (
    <div className="empty">
      <span className="empty__icon">
        <Icon name={icon} />
      </span>
      {children}
    </div>
  )
}
