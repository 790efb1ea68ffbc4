import { client } from '../../client.ts'
import type { User } from '@gatehouse/client'
import { useState } from 'react'
import { useStore } from '../../hooks/use-store.ts'
import { Button } from '../../parts/button.tsx'
import { DeleteAccountDialog } from './delete-account-dialog.tsx'
import { DeleteIdentitiesDialog } from './delete-identities-dialog.tsx'

/** The ways out: identities on other instances, or the account as a whole. */
export function Leaving({ user }: { user: User }) {
  const remotes = useStore(client.connections)
  const [open, setOpen] = useState<'account' | 'identities' | null>(null)
  return (
    <section className="wall" aria-labelledby="leaving-head">
      <div className="wall__head">
        <h2 id="leaving-head">Leaving</h2>
      </div>
      <ul className="rows">
        {!user.homeInstance && (
          <li className="way-out">
            <span>
              <strong>Leave other instances</strong>
              <span className="quiet">Deletes your identity on instances you choose. Your account here stays.</span>
            </span>
            <Button
              look="danger"
              size="small"
              aria-disabled={remotes.length === 0}
              onClick={() => setOpen('identities')}
            >
              Choose instances
            </Button>
          </li>
        )}
        <li className="way-out">
          <span>
            <strong>Delete this account</strong>
            <span className="quiet">
              Everything of yours is removed, here and on connected instances. There is no way back.
            </span>
          </span>
          <Button look="danger" size="small" onClick={() => setOpen('account')}>
            Delete account
          </Button>
        </li>
      </ul>
      {open === 'account' && <DeleteAccountDialog user={user} onClose={() => setOpen(null)} />}
      {open === 'identities' && <DeleteIdentitiesDialog remotes={remotes} onClose={() => setOpen(null)} />}
    </section>
  )
}
