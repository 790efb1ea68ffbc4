import type { Endpoints, User } from '@gatehouse/client'
import { describeUserAgent, limits } from '@gatehouse/contracts/constants'
import { Button } from '../../components/button.tsx'
import { ActionRow, Card } from '../../components/card.tsx'
import { ConfirmDialog, DialogButton } from '../../components/dialog.tsx'
import { Field } from '../../components/field.tsx'
import { formatDate, formatDateTime } from '../../components/format.ts'
import { QueryList } from '../../components/query-list.tsx'
import { useQuery } from '../../hooks.ts'
import { t } from '../../language/language.ts'
import { canUsePasskeys, loadPasskeys } from '../../passkeys.ts'
import { useTripState, useTripText } from '../../provider-trips.ts'
import { useSecurityNotices } from '../../security-notices.ts'
import { useOwnPassword } from './use-password.tsx'

type Passkey = Endpoints['listPasskeys']['reply']['passkeys'][number]

/** A browser without WebAuthn can list and remove passkeys, but not add one. Contract: 3, Passkeys. */
export function PasskeysSection({ user }: { user: User }) {
  const query = useQuery(`passkeys ${user.id}`, (signal, client) => client.call('listPasskeys', { signal }))
  const [removed, setRemoved] = useTripState<Passkey | null>('removed passkey', null)
  const { refetch } = query
  useSecurityNotices('passkey', refetch)
  return (
    <Card
      title={t('Passkeys')}
      text={
        user.hasPassword === false
          ? 'Log in with your device’s fingerprint, face or PIN.'
          : 'Log in with your device’s fingerprint, face or PIN instead of a password and code.'
      }
      action={
        canUsePasskeys() && (
          <DialogButton
            size="small"
            icon="plus"
            text="Add a passkey"
            reopens="passkey"
            dialog={(close) => <AddPasskeyDialog onClose={close} onDone={refetch} />}
          />
        )
      }
    >
      <QueryList
        query={query}
        items={query.data?.passkeys ?? null}
        empty={canUsePasskeys() ? t('No passkeys yet.') : t('No passkeys yet. This browser doesn’t support passkeys.')}
        icon="key"
        rows={1}
      >
        {(passkey) => (
          <li key={passkey.id}>
            <ActionRow title={passkey.name} text={describeUse(passkey)}>
              <Button
                size="small"
                text="Remove"
                fullText="Remove passkey {name}"
                values={{ name: passkey.name }}
                variant="danger"
                onClick={() => setRemoved(passkey)}
              />
            </ActionRow>
          </li>
        )}
      </QueryList>
      {removed && <RemovePasskeyDialog passkey={removed} onClose={() => setRemoved(null)} onDone={refetch} />}
    </Card>
  )
}

function describeUse({ createdAt, lastUsedAt }: Passkey): string {
  const added = formatDate(createdAt)
  return lastUsedAt === null
    ? t('Added on {added}, not used yet', { added })
    : t('Added on {added}, last used on {used}', { added, used: formatDateTime(lastUsedAt) })
}

type Props = { onClose: () => void; onDone: () => void }

function AddPasskeyDialog(props: Props) {
  const { field, proof, mutation } = useOwnPassword('passkey-password')
  const name = useTripText('passkey name', describeUserAgent(navigator.userAgent) ?? '')
  return (
    <ConfirmDialog
      dialog="AddPasskeyDialog"
      title={t('Add a passkey')}
      text="Your browser will ask where to save it: on this device, your phone or a security key."
      submit={t('Continue')}
      mutation={mutation}
      interruptible
      act={async (signal, client) => {
        const { addPasskey } = await loadPasskeys()
        await addPasskey(client, { name: name.value, proof }, signal)
      }}
      done={t('Passkey added.')}
      {...props}
    >
      {field}
      <Field
        label={t('Name')}
        name="passkey-name"
        maxLength={limits.passkeyNameMax}
        {...name}
        problem={name.value.trim() === '' ? t('Enter a name.') : null}
        hint={t('To help you recognize it later.')}
      />
    </ConfirmDialog>
  )
}

function RemovePasskeyDialog({ passkey: { id, name }, ...props }: Props & { passkey: Passkey }) {
  const password = useOwnPassword('passkey-removal-password')
  return (
    <ConfirmDialog
      dialog="RemovePasskeyDialog"
      title={t('Remove passkey {name}', { name })}
      text="You won’t be able to log in with it anymore. Delete it from your device too."
      submit={t('Remove')}
      dangerous
      confirmation={password}
      act={(signal, client) => client.call('removePasskey', { params: { id }, body: password.proof, signal })}
      done={t('Passkey removed.')}
      {...props}
    />
  )
}
