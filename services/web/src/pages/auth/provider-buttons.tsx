import { safeRedirect } from '@gatehouse/client/routes'
import { useEffect, useState } from 'react'
import { useSearchParams } from 'wouter'
import { MutationButton, MutationError } from '../../components/error-message.tsx'
import { ProviderIcon } from '../../components/provider-icon.tsx'
import { Skeleton } from '../../components/status.tsx'
import { useClient, useMutation } from '../../hooks.ts'
import { t, type Text } from '../../language/language.ts'
import { type LogInEntry, logInByProvider } from '../../provider-log-in.ts'
import type { Provider } from '../../providers.ts'

type Props = {
  providers: readonly Provider[]
  text?: Text
  entry?: Partial<LogInEntry>
  /** Nothing stands before. */
  isFirst?: boolean
  /** Goes there without a click. */
  isOnlyWay?: boolean
}

export function ProviderButtons(props: Props) {
  const { providers, text = 'Log in with {provider}', entry, isFirst, isOnlyWay = false } = props
  const client = useClient()
  const mutation = useMutation()
  const [search] = useSearchParams()
  const redirect = safeRedirect(search.get('redirect'))
  const [isLeaving, setLeaving] = useState(isOnlyWay)
  const go = async (provider: string) => {
    await mutation.run(() => logInByProvider(client, { redirect, ...entry, provider }, isOnlyWay))
    setLeaving(false)
  }
  const [first] = providers
  useEffect(() => {
    if (isOnlyWay && first) void go(first.id)
  }, [])
  if (isLeaving) return <Skeleton rows={1} />
  return (
    <div className="stack stack--tight">
      {!isFirst && <p className="or">{t('or')}</p>}
      {providers.map((provider) => (
        <MutationButton
          key={provider.id}
          wide
          mutation={mutation}
          data-provider={provider.id}
          onClick={() => void go(provider.id)}
        >
          <ProviderIcon provider={provider} />
          {t(text, { provider: provider.name })}
        </MutationButton>
      ))}
      <MutationError mutation={mutation} />
    </div>
  )
}
