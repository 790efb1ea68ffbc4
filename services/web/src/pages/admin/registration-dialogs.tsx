import { limits } from '@gatehouse/contracts/constants'
import { UserName } from '../../components/avatar.tsx'
import { ConfirmDialog } from '../../components/dialog.tsx'
import { Field, useText } from '../../components/field.tsx'
import { formatNumber } from '../../components/format.ts'
import { useQuery } from '../../hooks.ts'
import { t } from '../../language/language.ts'
import type { DecisionWork, Registration } from './registration-decisions.ts'
import { groupRows } from './registration-selection.ts'

type Props = { rows: readonly Registration[]; work: DecisionWork; onClose: () => void }

const countOf = (rows: readonly unknown[]) => ({ count: formatNumber(rows.length) })
const idsOf = (rows: readonly Registration[]) => rows.map(({ id }) => id)

/** For several: it cannot be undone. */
export function ApproveDialog({ rows, work, onClose }: Props) {
  return (
    <ConfirmDialog
      dialog="ApproveRegistrationsDialog"
      title={t('Approve {count} registrations', countOf(rows))}
      text="They can log in immediately. To undo this, suspend or delete the accounts."
      submit={t('Approve')}
      act={work({ ids: idsOf(rows), decision: 'approve' })}
      onClose={onClose}
    >
      <ul className="list registrations__summary">
        {rows.map(({ id, username, reason }) => (
          <li key={id}>
            <UserName strong>{username}</UserName> <bdi className="small muted">{reason}</bdi>
          </li>
        ))}
      </ul>
    </ConfirmDialog>
  )
}

export function BlockDialog({ rows, work, onClose }: Props) {
  const reason = useText()
  const { data } = useQuery('settings', (signal, client) => client.call('getSettings', { signal }))
  const networks = groupRows(rows, '')
  return (
    <ConfirmDialog
      dialog="BlockNetworksDialog"
      title={t('Deny {count} and block their networks', countOf(rows))}
      text="Nobody can register from these networks for {hours} hours. You set the number of hours under Instance."
      values={{ hours: data ? formatNumber(data.denialBlockHours) : '…' }}
      submit={t('Deny and block')}
      dangerous
      act={work({ ids: idsOf(rows), decision: 'deny', block: true, ...(reason.value && { reason: reason.value }) })}
      onClose={onClose}
    >
      <ul className="list registrations__summary">
        {networks.map(({ network, rows: members }) => (
          <li key={network} className="split-row">
            <bdi className="registration__network">{network}</bdi>
            <span className="small muted">{formatNumber(members.length)}</span>
          </li>
        ))}
      </ul>
      <Field
        label={t('Reason')}
        name="reason"
        optional
        maxLength={limits.registrationReasonMax}
        hint={t('Shown in the audit log only.')}
        {...reason}
      />
    </ConfirmDialog>
  )
}
