import type { User } from '@gatehouse/client'
import { useLocation } from 'wouter'
import { UserAvatar, UserNames } from '../../components/avatar.tsx'
import { Button } from '../../components/button.tsx'
import { MutationButton, MutationError, SubmitButton } from '../../components/error-message.tsx'
import { Form } from '../../components/field.tsx'
import { Icon } from '../../components/icon.tsx'
import { type Mutation, useClient } from '../../hooks.ts'
import { t } from '../../language/language.ts'
import { describeScope } from '../../components/scopes.ts'
import { loginThatReturns } from './request.ts'

/** Logs out, and comes back with whom the login page gets. */
export function useOtherAccount(username?: string) {
  const client = useClient()
  const [, navigate] = useLocation()
  return () => {
    const login = loginThatReturns(location)
    client.logOut()
    navigate(login, { state: { username } })
  }
}

/** Whose account it is about. */
export function AskedAccount({ user, hint }: { user: User; hint?: string | undefined }) {
  const changeAccount = useOtherAccount(hint)
  return (
    <div className="asked-account">
      <UserAvatar user={user} />
      <UserNames user={user} />
      <Button size="small" text="Use another account" onClick={changeAccount} />
    </div>
  )
}

/** What the application gets. */
export function AskedScopes({ scopes, title }: { scopes: readonly string[]; title: string }) {
  return (
    <section aria-label={title}>
      <h2 className="asked-scopes__title">{title}</h2>
      <ul className="asked-scopes">
        {scopes.map((scope) => (
          <li key={scope}>
            <Icon name="check" />
            <span>{describeScope(scope)}</span>
          </li>
        ))}
        <li className="muted">
          <Icon name="close" />
          <span>{t('It never sees your password.')}</span>
        </li>
      </ul>
    </section>
  )
}

export type Decision = 'allow' | 'deny'
type DecisionFormProps = { mutation: Mutation; decide: (decision: Decision) => unknown }

export function DecisionForm({ mutation, decide }: DecisionFormProps) {
  return (
    <Form className="stack stack--tight" onSubmit={() => decide('allow')}>
      <MutationError mutation={mutation} />
      <div className="decision">
        <MutationButton mutation={mutation} text="Deny" onClick={() => void decide('deny')} />
        <SubmitButton mutation={mutation} text="Allow" />
      </div>
    </Form>
  )
}
