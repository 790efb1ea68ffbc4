import type { LinkedIdentity, User } from '@gatehouse/client'
import { linkIdentity } from '@gatehouse/client/providers'
import { useEffect } from 'react'
import { Button } from '../../components/button.tsx'
import { ActionRow, Card } from '../../components/card.tsx'
import { ConfirmDialog } from '../../components/dialog.tsx'
import { MutationButton, RowError } from '../../components/error-message.tsx'
import { describeIdentity } from '../../components/identities.ts'
import { ProviderIcon } from '../../components/provider-icon.tsx'
import { QueryList } from '../../components/query-list.tsx'
import { Notice } from '../../components/status.tsx'
import { type Mutation, useMutation, useQuery } from '../../hooks.ts'
import { t } from '../../language/language.ts'
import { leaveForProvider, type NamedProvider, useArrival, useTripState } from '../../provider-trips.ts'
import { type Provider, useProviders } from '../../providers.ts'
import { useSecurityNotices } from '../../security-notices.ts'
import { describeTripError } from './provider-confirmation.tsx'
import { useOwnPassword } from './use-password.tsx'

type Linking = { ticket: string; provider: NamedProvider }

const linkAsker = 'link'

/** Only where the instance or the account has one. Contract: 3, Identity providers. */
export function ProvidersSection({ user }: { user: User }) {
  const query = useQuery(`identities ${user.id}`, (signal, client) => client.call('listLinkedIdentities', { signal }))
  const { providers } = useProviders()
  useSecurityNotices('identity', query.refetch)
  const start = useMutation()
  const { arrival, drop } = useArrival(linkAsker)
  const [linking, setLinking] = useTripState<Linking | null>('linking', null)
  const [removed, setRemoved] = useTripState<LinkedIdentity | null>('removed identity', null)
  useEffect(() => {
    if (arrival?.ticket) setLinking({ ticket: arrival.ticket, provider: arrival.provider })
  }, [])
  const identities = query.data?.identities ?? null
  const find = (id: string) => providers.find((provider) => provider.id === id)
  const nameOf = (id: string) => find(id)?.name ?? id
  if (providers.length === 0 && !identities?.length) return null

  const isLastWay = user.hasPassword === false && identities?.length === 1
  const link = (provider: NamedProvider) => {
    drop()
    void start.run((signal, client) =>
      leaveForProvider(client, { purpose: 'link', asker: linkAsker, provider }, signal),
    )
  }
  const endLinking = () => {
    drop()
    setLinking(null)
  }
  const problem = arrival && describeTripError(arrival, arrival.provider)
  return (
    <Card title={t('Identity providers')} text="Log in with an account that you have there.">
      <QueryList query={query} items={identities} empty={t('No identity provider linked yet.')} rows={1}>
        {(identity) => (
          <IdentityRow
            key={identity.id}
            identity={identity}
            provider={find(identity.provider)}
            isLastWay={isLastWay}
            onRemove={() => setRemoved(identity)}
          />
        )}
      </QueryList>
      {problem && (
        <Notice tone="error">
          <p>{problem}</p>
        </Notice>
      )}
      <RowError mutation={start} />
      <LinkButtons providers={providers} mutation={start} onLink={link} />
      {linking && <LinkIdentityDialog {...linking} onClose={endLinking} onDone={query.refetch} />}
      {removed && (
        <UnlinkIdentityDialog
          id={removed.id}
          provider={nameOf(removed.provider)}
          onClose={() => setRemoved(null)}
          onDone={query.refetch}
        />
      )}
    </Card>
  )
}

type LinkProps = { providers: Provider[]; mutation: Mutation; onLink: (provider: Provider) => void }

function LinkButtons({ providers, mutation, onLink }: LinkProps) {
  return (
    <div className="button-row">
      {providers.map((provider) => (
        <MutationButton
          key={provider.id}
          size="small"
          {...(!provider.icon && { icon: 'plus' as const })}
          mutation={mutation}
          onClick={() => onLink(provider)}
        >
          <ProviderIcon provider={provider} />
          {t('Link {provider}', { provider: provider.name })}
        </MutationButton>
      ))}
    </div>
  )
}

type RowProps = {
  identity: LinkedIdentity
  /** Undefined: the instance has it no more. */
  provider: Provider | undefined
  isLastWay: boolean
  onRemove: () => void
}

function IdentityRow({ identity, provider, isLastWay, onRemove }: RowProps) {
  const { passwords } = useProviders()
  const name = provider?.name ?? identity.provider
  return (
    <li>
      <ActionRow
        title={
          <>
            <ProviderIcon provider={provider} /> {name}
          </>
        }
        text={describeIdentity(identity)}
      >
        {isLastWay ? (
          <p className="small muted">
            {passwords ? t('Set a password before you remove it.') : t('Link another one before you remove it.')}
          </p>
        ) : (
          <Button
            size="small"
            text="Remove"
            fullText="Remove {provider}"
            values={{ provider: name }}
            variant="danger"
            onClick={onRemove}
          />
        )}
      </ActionRow>
    </li>
  )
}

type Props = { onClose: () => void; onDone: () => void }

function LinkIdentityDialog({ ticket, provider: { name }, ...props }: Props & Linking) {
  const { proof, ...confirmation } = useOwnPassword('link-password')
  const body = 'ticket' in proof ? { ticket, confirm: proof.ticket } : { ticket, ...proof }
  return (
    <ConfirmDialog
      dialog="LinkIdentityDialog"
      title={t('Link {provider}', { provider: name })}
      text="You’ll be able to log in to this account with it."
      submit={t('Link')}
      confirmation={confirmation}
      act={(signal, client) => linkIdentity(client, body, { signal })}
      done={t('Identity provider linked.')}
      {...props}
    />
  )
}

function UnlinkIdentityDialog({ id, provider, ...props }: Props & { id: string; provider: string }) {
  const { proof, ...confirmation } = useOwnPassword('unlink-password')
  return (
    <ConfirmDialog
      dialog="UnlinkIdentityDialog"
      title={t('Remove {provider}', { provider })}
      text="You won’t be able to log in with it anymore."
      submit={t('Remove')}
      dangerous
      confirmation={confirmation}
      act={(signal, client) => client.call('unlinkIdentity', { params: { id }, body: proof, signal })}
      done={t('Identity provider removed.')}
      {...props}
    />
  )
}
