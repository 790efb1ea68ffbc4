import type { Invite } from '@gatehouse/client'
import { useState } from 'react'
import { client } from '../../client.ts'
import { useLoad } from '../../hooks/use-load.ts'
import { Button } from '../../parts/button.tsx'
import { Empty } from '../../parts/empty.tsx'
import { LoadProblem } from '../../parts/load-problem.tsx'
import { RowShimmer } from '../../parts/row-shimmer.tsx'
import { usePages } from '../../hooks/use-pages.ts'
import { InviteDialog } from './invite-dialog.tsx'
import { InviteRow } from './invite-row.tsx'

const shelves = [
  ['active', 'Active'],
  ['archived', 'Archived'],
] as const

/** Invite links: make, copy, change, revoke, reinstate, delete, and who came through them. Contract: 4. */
export function InvitesSection() {
  const [shelf, setShelf] = useState<'active' | 'archived'>('active')
  const [creating, setCreating] = useState(false)
  const pages = usePages<Invite>(shelf, async (cursor, signal) => {
    const page = await client.api.invites.list({ status: shelf, ...(cursor ? { cursor } : {}) }, { signal })
    return { items: page.invites, nextCursor: page.nextCursor }
  })
  const gate = useLoad('gate', (signal) => client.api.instance.info({ signal }))
  return (
    <section className="stack" aria-label="Invites">
      <h2 className="visually-hidden">Invites</h2>
      <div className="section-bar">
        <div className="button-row" role="group" aria-label="Which invites">
          {shelves.map(([key, label]) => (
            <Button
              key={key}
              size="small"
              aria-pressed={shelf === key}
              className="toggle"
              onClick={() => setShelf(key)}
            >
              {label}
            </Button>
          ))}
        </div>
        <Button look="primary" icon="plus" onClick={() => setCreating(true)}>
          New invite
        </Button>
      </div>
      {gate.data?.registrationOpen && (
        <p className="small quiet">
          The gate is open: anyone can register, and invites are not used up. Close it under Gates.
        </p>
      )}
      <LoadProblem load={pages} />
      {!pages.items && pages.loading && <RowShimmer />}
      {pages.items?.length === 0 && (
        <Empty icon="gate">
          <p>
            {shelf === 'active'
              ? 'No invite is open. Make one and send its link.'
              : 'No invite has run out or been revoked.'}
          </p>
        </Empty>
      )}
      {pages.items && pages.items.length > 0 && (
        <ul className="wall rows" aria-busy={pages.loading}>
          {pages.items.map((invite) => (
            <InviteRow key={invite.id} invite={invite} onChanged={pages.reload} />
          ))}
        </ul>
      )}
      {pages.more && (
        <Button busy={pages.loading} onClick={pages.more}>
          Show more
        </Button>
      )}
      {creating && (
        <InviteDialog
          invite={null}
          onClose={() => setCreating(false)}
          onSaved={() => (setShelf('active'), pages.reload())}
        />
      )}
    </section>
  )
}
