import type { RemoteInstance, User } from '@gatehouse/client'
import { Link } from 'wouter'
import { Card } from '../../components/card.tsx'
import { hostOf } from '../../components/format.ts'
import { Badge, StatusDot } from '../../components/status.tsx'
import { t } from '../../language/language.ts'
import { states } from './connected-instances.tsx'
import type { RegistryEntry } from './registry.ts'

type Props = { user: User; remotes: readonly RemoteInstance[]; elsewhere: readonly RegistryEntry[] }

/** Where this account is used. Contract: 7, the federation registry. */
export function InstancesSummary({ user, remotes, elsewhere }: Props) {
  const { homeInstance } = user
  return (
    <Card
      title={t('Connected instances')}
      text={
        homeInstance
          ? t('This account belongs to {homeInstance}. Manage its connections there.', { homeInstance })
          : t('Instances where you use this account.')
      }
      action={
        !homeInstance && (
          <Link href="/settings/instances" className="button button--outline button--small">
            {t('Manage')}
          </Link>
        )
      }
    >
      <ul className="list">
        {remotes.map(({ origin, state, online }) => (
          <li key={origin} className="split-row">
            <span>
              <StatusDot on={online} /> <strong>{hostOf(origin)}</strong>
            </span>
            <Badge tone={states[state].tone}>{t(states[state].label)}</Badge>
          </li>
        ))}
        {elsewhere.map(({ origin }) => (
          <li key={origin} className="split-row">
            <strong>{hostOf(origin)}</strong>
            <Badge>{t('Connected in another app')}</Badge>
          </li>
        ))}
      </ul>
      {remotes.length + elsewhere.length === 0 && !homeInstance && (
        <p className="muted">
          {t(
            'None yet. An instance is a server like this one, run by somebody else: your account can be used there too.',
          )}
        </p>
      )}
    </Card>
  )
}
