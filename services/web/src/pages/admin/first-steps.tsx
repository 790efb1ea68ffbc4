import type { Overview } from '@gatehouse/client'
import { useState } from 'react'
import { Link } from 'wouter'
import { Button } from '../../components/button.tsx'
import { Card } from '../../components/card.tsx'
import { Icon } from '../../components/icon.tsx'
import { StatusDot } from '../../components/status.tsx'
import { t, type Text } from '../../language/language.ts'

type Step = { name: keyof Overview['firstSteps'] | 'hasBackup'; text: Text; hint: Text; href?: string }

const steps: readonly Step[] = [
  { name: 'isNamed', text: 'Name the instance', hint: 'People see it when they log in.', href: '/admin/settings' },
  {
    name: 'isRegistrationDecided',
    text: 'Open or close the registration',
    hint: 'Choose who can create an account.',
    href: '/admin/settings',
  },
  { name: 'hasInvited', text: 'Invite somebody', hint: 'Make a link and pass it on.', href: '/admin/invites' },
  {
    name: 'hasSecondAdmin',
    text: 'Make a second admin',
    hint: 'Somebody who can let you in again when you have lost your password.',
    href: '/admin/users',
  },
  {
    name: 'hasBackup',
    text: 'Make a backup',
    hint: 'On the server: gatehouse backup <file>. Keep the file, and the secrets, on another machine.',
  },
]

const storageKey = 'gatehouse_first_steps'

/** `backup` or `hidden`: what this browser remembers, since the state of the instance does not tell. */
function recall(): string {
  try {
    return localStorage.getItem(storageKey) ?? ''
  } catch {
    return ''
  }
}

function remember(what: 'backup' | 'hidden'): void {
  try {
    localStorage.setItem(storageKey, what)
  } catch {
    // Without storage it holds until the page is left.
  }
}

/** Goes when all is done, or when it is hidden. */
export function FirstSteps({ done }: { done: Overview['firstSteps'] }) {
  const [known, setKnown] = useState(recall)
  const note = (what: 'backup' | 'hidden') => {
    remember(what)
    setKnown(what)
  }
  const isDone = (name: Step['name']) => (name === 'hasBackup' ? known === 'backup' : done[name])
  if (known === 'hidden' || steps.every(({ name }) => isDone(name))) return null
  return (
    <Card
      title={t('First steps')}
      highlighted
      action={
        <Button size="small" variant="plain" onClick={() => note('hidden')}>
          {t('Hide')}
        </Button>
      }
    >
      <ul className="list">
        {steps.map(({ name, text, hint, href }) => (
          <li key={name} className="first-step" data-done={isDone(name)}>
            {isDone(name) ? <Icon name="check" /> : <StatusDot on={false} />}
            <span>
              {href && !isDone(name) ? <Link href={href}>{t(text)}</Link> : <strong>{t(text)}</strong>}
              {isDone(name) && <span className="visually-hidden"> {t('Done')}</span>}
              {!isDone(name) && <span className="small muted">{t(hint)}</span>}
            </span>
            {name === 'hasBackup' && !isDone(name) && (
              <Button size="small" onClick={() => note('backup')}>
                {t('I have one')}
              </Button>
            )}
          </li>
        ))}
      </ul>
    </Card>
  )
}
