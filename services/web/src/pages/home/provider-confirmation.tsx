import { ApiError } from '@gatehouse/client'
import { useEffect, useId } from 'react'
import { formatError, MutationButton } from '../../components/error-message.tsx'
import { FieldMessage } from '../../components/field.tsx'
import { type Mutation, useMutation, useQuery } from '../../hooks.ts'
import { t } from '../../language/language.ts'
import { type Arrival, leaveForProvider, type NamedProvider, useArrival } from '../../provider-trips.ts'

/**
 * An account without a password confirms at a linked identity provider. `ticket`: what comes back from there. One that is
 * refused is dropped. Contract: 3, Identity providers.
 */
export function useProviderConfirmation(name: string, mutation: Mutation) {
  const { arrival, drop } = useArrival(name)
  const { error } = mutation
  const isRefused = error instanceof ApiError && /^(ticket_refused|fresh_sign_in_required)$/.test(error.code ?? '')
  useEffect(() => {
    if (isRefused) drop()
  }, [isRefused])
  const field = arrival?.ticket ? (
    <p className="field__message field__message--good" role="status" tabIndex={-1} data-first-focus>
      {t('Confirmed with {provider}.', { provider: arrival.provider.name })}
    </p>
  ) : (
    <ProviderChoice name={name} problem={arrival && describeTripError(arrival, arrival.provider)} />
  )
  return { ticket: arrival?.ticket ?? null, field, reset: drop }
}

/** Stands in the way of a submit. */
function ProviderChoice({ name, problem }: { name: string; problem: string | null }) {
  const id = useId()
  const start = useMutation()
  const { data } = useQuery('own providers', async (signal, client) => {
    const [{ providers }, { identities }] = await Promise.all([
      client.call('listProviders', { signal }),
      client.call('listLinkedIdentities', { signal }),
    ])
    return providers.filter((provider) => identities.some((identity) => identity.provider === provider.id))
  })
  const isNone = data?.length === 0
  const none = t('None of your identity providers is available. Ask an admin of this instance for a reset link.')
  return (
    <div
      className="field"
      role="group"
      aria-labelledby={id}
      aria-describedby={`${name}-message`}
      tabIndex={-1}
      data-problem
      data-first-focus
    >
      <span className="field__label" id={id}>
        {t('Confirm that it’s you')}
      </span>
      <div className="button-row">
        {data?.map((provider) => (
          <MutationButton
            key={provider.id}
            mutation={start}
            text="Confirm with {provider}"
            values={{ provider: provider.name }}
            onClick={() =>
              void start.run((signal, client) =>
                leaveForProvider(client, { purpose: 'confirm', asker: name, provider }, signal),
              )
            }
          />
        ))}
      </div>
      <FieldMessage
        id={`${name}-message`}
        error={start.error ? formatError(start.error) : problem}
        hint={isNone ? none : t('You have no password here. You’ll come back to this page.')}
      />
    </div>
  )
}

/** Null: nothing went wrong. */
export function describeTripError({ error }: Arrival, { name: provider }: NamedProvider): string | null {
  if (error === null) return null
  if (error === 'cancelled') return t('You canceled at {provider}.', { provider })
  if (error === 'expired') return t('That took too long. Try again.')
  if (error === 'unavailable') return t('This instance is busy. Try again in a moment.')
  if (error === 'provider_unavailable')
    return t('{provider} can’t be reached right now. Try again later.', { provider })
  return t('Something went wrong at {provider}. Try again.', { provider })
}
