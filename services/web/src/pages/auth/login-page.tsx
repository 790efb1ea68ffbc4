import { ApiError } from '@gatehouse/client'
import { useRef, useState, type FormEvent } from 'react'
import { Link, useSearch } from 'wouter'
import { client } from '../../client.ts'
import { forgetFarewell } from '../../farewell.ts'
import { useAct } from '../../hooks/use-act.ts'
import { useInstanceInfo } from '../../hooks/use-instance-info.ts'
import { ActProblem, limitedLabel } from '../../parts/act-problem.tsx'
import { Button } from '../../parts/button.tsx'
import { Field } from '../../parts/field.tsx'
import { PasswordField } from '../../parts/password-field.tsx'
import { AuthFrame } from './auth-frame.tsx'
import { SessionEnded } from './session-ended.tsx'

/** Logs in. Refused credentials show at the fields, a limit counts down on the button. Spec: POST /api/auth/login. */
export function LoginPage() {
  const act = useAct()
  const { info } = useInstanceInfo()
  const search = useSearch()
  const [username, setUsername] = useState('')
  const [password, setPassword] = useState('')
  const [missing, setMissing] = useState(false)
  const nameInput = useRef<HTMLInputElement>(null)
  const passwordInput = useRef<HTMLInputElement>(null)

  const refused = act.error instanceof ApiError && act.error.status === 401 ? act.error : null
  const submit = async (event: FormEvent) => {
    event.preventDefault()
    setMissing(true)
    if (!username.trim()) return nameInput.current?.focus()
    if (!password) return passwordInput.current?.focus()
    forgetFarewell()
    const done = await act.run((signal) => client.logIn({ username: username.trim(), password }, { signal }))
    if (!done) passwordInput.current?.select()
  }
  return (
    <AuthFrame title="Log in" lead={info ? `Welcome back to ${info.name}.` : 'Welcome back.'}>
      <SessionEnded />
      <form className="stack stack--tight" noValidate onSubmit={(event) => void submit(event)}>
        <Field
          label="Username"
          autoComplete="username"
          autoCapitalize="none"
          spellCheck={false}
          inputRef={nameInput}
          value={username}
          onChange={(event) => (setUsername(event.target.value), act.clear())}
          error={missing && !username.trim() ? 'Enter your username.' : null}
          aria-invalid={refused ? true : undefined}
        />
        <PasswordField
          label="Password"
          autoComplete="current-password"
          inputRef={passwordInput}
          value={password}
          onChange={(event) => (setPassword(event.target.value), act.clear())}
          error={missing && !password ? 'Enter your password.' : refused ? refused.message : null}
        />
        <ActProblem act={refused ? { ...act, error: null } : act} />
        <Button type="submit" look="primary" wide busy={act.busy} aria-disabled={act.waitSeconds > 0}>
          {limitedLabel(act, 'Log in')}
        </Button>
      </form>
      <p className="auth__other">
        New here? <Link href={search ? `/register?${search}` : '/register'}>Create an account</Link>
      </p>
    </AuthFrame>
  )
}
