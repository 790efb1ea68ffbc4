import type { Invite, InviteRedemption, User } from '@gatehouse/client'
import { limits } from '@gatehouse/contracts/constants'
import { useState } from 'react'
import { UserName } from '../../components/avatar.tsx'
import { ConfirmDialog, Dialog } from '../../components/dialog.tsx'
import { Field } from '../../components/field.tsx'
import { fromDateTimeInput, toDateTimeInput } from '../../components/format.ts'
import { QueryList } from '../../components/query-list.tsx'
import { Badge, RelativeTime } from '../../components/status.tsx'
import { useAppContext, useClient, usePages, useToast } from '../../hooks.ts'
import { t } from '../../language/language.ts'
import { BulkSuspendDialog } from './bulk-suspend-dialog.tsx'

type Props = { invite: Invite; onClose: () => void; onChanged: () => void }

const weekMs = 7 * 86_400_000

type Limits = { maxUses: number | null; expiresAt: number | null }

/** Empty means no limit. `check` is called on submit. */
function useInviteLimits(findInitial: () => Limits) {
  const [initial] = useState(findInitial)
  const [uses, setUses] = useState(initial.maxUses === null ? '' : String(initial.maxUses))
  const [expiry, setExpiry] = useState(initial.expiresAt === null ? '' : toDateTimeInput(initial.expiresAt))
  const [submitted, setSubmitted] = useState(false)
  const typed = uses.trim()
  const problem = typed !== '' && !/^[1-9]\d{0,8}$/.test(typed) ? t('Enter a whole number, 1 or more.') : null
  const fields = (
    <>
      <Field
        label={t('Uses')}
        name="max-uses"
        optional
        inputMode="numeric"
        autoComplete="off"
        value={uses}
        onText={setUses}
        error={submitted ? problem : null}
        hint={t('Empty: no limit.')}
      />
      <Field
        label={t('Expires')}
        name="expires-at"
        autoComplete="off"
        optional
        type="datetime-local"
        value={expiry}
        onText={setExpiry}
        hint={t('Empty: never.')}
      />
    </>
  )
  const check = () => {
    setSubmitted(true)
    return !problem
  }
  const values: Limits = { maxUses: typed === '' ? null : Number(typed), expiresAt: fromDateTimeInput(expiry) }
  return { fields, submitted, check, values }
}

export function InviteDialog({ invite, onClose, onChanged }: Omit<Props, 'invite'> & { invite: Invite | null }) {
  const { client, now } = useAppContext()
  const [name, setName] = useState(invite?.name ?? '')
  const { fields, submitted, check, values } = useInviteLimits(
    () => invite ?? { maxUses: 1, expiresAt: now() + weekMs },
  )
  const body = { name: name.trim(), ...values }
  return (
    <ConfirmDialog
      title={invite ? t('Edit {name}', { name: invite.name }) : t('New invite')}
      submit={invite ? t('Save') : t('Create invite')}
      check={() => check() && body.name !== ''}
      act={() =>
        invite ? client.call('patchInvite', { params: { id: invite.id }, body }) : client.call('createInvite', { body })
      }
      done={invite ? t('Invite saved.') : t('Invite created.')}
      onDone={onChanged}
      onClose={onClose}
    >
      <Field
        label={t('Name')}
        name="invite-name"
        autoComplete="off"
        maxLength={limits.inviteNameMax}
        value={name}
        onText={setName}
        error={submitted && !name.trim() ? t('Enter a name.') : null}
        hint={t('Shown to the people you invite when they register.')}
      />
      {fields}
    </ConfirmDialog>
  )
}

/** A revoked invite gets a new link. Spec: Invite status. */
export function ReinstateDialog({ invite, onClose, onChanged }: Props) {
  const { client, now } = useAppContext()
  const showToast = useToast()
  const { fields, check, values } = useInviteLimits(() => extendLimits(invite, now()))
  const { id, name } = invite
  const reinstate = async () => {
    const { tokenRotated } = await client.call('reinstateInvite', { params: { id }, body: values })
    showToast(
      tokenRotated ? t('{name} is active again, with a new link.', { name }) : t('{name} is active again.', { name }),
    )
  }
  return (
    <ConfirmDialog
      title={t('Reinstate {name}', { name })}
      submit={t('Reinstate')}
      check={check}
      act={reinstate}
      onDone={onChanged}
      onClose={onClose}
    >
      <p>
        {invite.status === 'revoked'
          ? t('The invite gets a new link. The old link stays invalid.')
          : t('The link stays the same.')}
      </p>
      {fields}
    </ConfirmDialog>
  )
}

/** Extends a limit that has been reached: by one use, by one week. */
function extendLimits({ maxUses, usedCount, expiresAt }: Invite, now: number): Limits {
  const exhausted = maxUses !== null && usedCount >= maxUses
  const expired = expiresAt !== null && expiresAt <= now
  return { maxUses: exhausted ? usedCount + 1 : maxUses, expiresAt: expired ? now + weekMs : expiresAt }
}

export function RevokeDialog({ invite, onClose, onChanged }: Props) {
  const client = useClient()
  return (
    <ConfirmDialog
      title={t('Revoke {name}', { name: invite.name })}
      submit={t('Revoke')}
      dangerous
      act={() => client.call('revokeInvite', { params: { id: invite.id } })}
      done={t('{name} was revoked.', { name: invite.name })}
      onDone={onChanged}
      onClose={onClose}
    >
      <p>{t('The link stops working at once. If you reinstate the invite later, it gets a new link.')}</p>
    </ConfirmDialog>
  )
}

export function DeleteInviteDialog({ invite, onClose, onChanged }: Props) {
  const client = useClient()
  return (
    <ConfirmDialog
      title={t('Delete {name}', { name: invite.name })}
      submit={t('Delete')}
      dangerous
      act={() => client.call('deleteInvite', { params: { id: invite.id } })}
      done={t('{name} was deleted.', { name: invite.name })}
      onDone={onChanged}
      onClose={onClose}
    >
      <p>{t('The link stops working, and the list of who used it is deleted. The accounts are kept.')}</p>
    </ConfirmDialog>
  )
}

/** All who came by it. */
export function SuspendInvitedDialog({ invite, onClose, onChanged }: Props) {
  const client = useClient()
  const listUsers = async (signal: AbortSignal) => {
    const found: User[] = []
    for (let cursor: string | null | undefined; cursor !== null;) {
      const query = { invite: invite.id, pageSize: limits.pageSizeMax, ...(cursor && { cursor }) }
      const page = await client.call('listUsers', { query, signal })
      found.push(...page.users)
      cursor = page.nextCursor
    }
    return found
  }
  const title = t('Suspend the users of {name}', { name: invite.name })
  return <BulkSuspendDialog title={title} listUsers={listUsers} onClose={onClose} onChanged={onChanged} />
}

export function RedemptionsDialog({ invite, onClose }: Omit<Props, 'onChanged'>) {
  const client = useClient()
  const query = usePages(invite.id, async (cursor, signal) => {
    const page = await client.call('listRedemptions', { params: { id: invite.id }, query: cursor, signal })
    return { items: page.redemptions, nextCursor: page.nextCursor }
  })
  return (
    <Dialog title={t('Who used {name}', { name: invite.name })} onClose={onClose}>
      <QueryList {...query} query={query} empty={t('No one has used this invite yet.')} rows={2} className="list">
        {(redemption) => (
          <li key={redemption.id} className="split-row">
            <span>
              <strong>
                <UserName>{redemption.registrantUsername}</UserName>
              </strong>{' '}
              <CurrentName redemption={redemption} />
            </span>
            <span className="small muted">
              <RelativeTime at={redemption.redeemedAt} />
            </span>
          </li>
        )}
      </QueryList>
    </Dialog>
  )
}

function CurrentName({ redemption }: { redemption: InviteRedemption }) {
  if (redemption.isDeleted || redemption.currentUsername === null) return <Badge>{t('Deleted')}</Badge>
  if (redemption.currentUsername === redemption.registrantUsername) return null
  return <span className="small muted">{t('now {name}', { name: redemption.currentUsername })}</span>
}
