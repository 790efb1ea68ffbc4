import type { User } from '@gatehouse/client'
import { Link } from 'wouter'
import { ActionRow, Card } from '../../components/card.tsx'
import { Skeleton } from '../../components/status.tsx'
import { useClient, useQuery } from '../../hooks.ts'
import { type Text, t } from '../../language/language.ts'

type Step = { title: Text; text: Text; path: string; link: Text; isDone: boolean }

type Props = { user: User; isConnected: boolean | null }

/** What makes an account whole. Nothing when all is done. `isConnected`: null while that is not known. */
export function NextSteps({ user, isConnected }: Props) {
  const client = useClient()
  const isLocal = user.homeInstance === null
  const asks = isLocal && !user.secondFactor
  const passkeys = useQuery(`passkeys ${user.id} ${asks}`, async (signal) =>
    asks ? await client.call('listPasskeys', { signal }) : null,
  )
  const steps: Step[] = [
    {
      title: 'Show who you are',
      text: 'A picture and a few words help friends to find you.',
      path: '/settings/profile',
      link: 'Fill it in',
      isDone: !isLocal || Boolean(user.avatar || user.bio),
    },
    {
      title: 'Protect your account',
      text: 'With a second factor or a passkey, a stolen password alone opens nothing.',
      path: '/settings/security',
      link: 'Set it up',
      isDone: !asks || passkeys.data?.passkeys.length !== 0,
    },
    {
      title: 'Use this account elsewhere',
      text: 'Connect other instances, and keep one name and one password.',
      path: '/settings/instances',
      link: 'Connect one',
      isDone: !isLocal || isConnected === true,
    },
  ]
  if ((asks && passkeys.loading) || (isLocal && isConnected === null)) return <Skeleton rows={1} of="card" />
  const open = steps.filter(({ isDone }) => !isDone)
  if (open.length === 0) return null
  return (
    <Card title={t('What to do next')}>
      <ul className="list">
        {open.map(({ title, text, path, link }) => (
          <li key={path}>
            <ActionRow title={t(title)} text={t(text)}>
              <Link href={path} className="button button--outline button--small">
                {t(link)}
              </Link>
            </ActionRow>
          </li>
        ))}
      </ul>
    </Card>
  )
}
