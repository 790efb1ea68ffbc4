import { ApiError, NetworkFailure } from '@gatehouse/client'
import type { ComponentProps } from 'react'
import type { Mutation, Query } from '../hooks.ts'
import { t, translateRefusal } from '../language/language.ts'
import { PasskeyFailure } from '../passkey-failure.ts'
import { Button } from './button.tsx'
import { formatCountdown } from './format.ts'
import { Icon } from './icon.tsx'
import { Notice } from './status.tsx'

/** Takes its space without an error too, so that the layout does not shift. `note`: shown while there is no error. */
export function MutationError({ mutation, note }: { mutation: Mutation; note?: string | false }) {
  const waiting = mutation.waitSeconds > 0
  const text = waiting
    ? t('Too many attempts. Try again in a moment.')
    : mutation.error
      ? formatError(mutation.error)
      : note
  const tone = waiting || !mutation.error ? 'wait' : 'error'
  return (
    <div className={`form-message form-message--${tone}`} role="alert">
      {text && <Icon name="alert" />}
      {text}
    </div>
  )
}

/** Takes no space without an error. */
export function RowError({ mutation: { error } }: { mutation: Mutation }) {
  return (
    error && (
      <p className="small row-error" role="alert">
        {formatError(error)}
      </p>
    )
  )
}

type SubmitButtonProps = ComponentProps<typeof Button> & { mutation: Mutation | undefined }

/** Shows progress, and a countdown while rate limited: "Try again in 0:42". */
export function SubmitButton({ mutation, ...button }: SubmitButtonProps) {
  const waitSeconds = mutation?.waitSeconds ?? 0
  const isWaiting = waitSeconds > 0
  return (
    <Button
      type="submit"
      variant="primary"
      {...button}
      {...(isWaiting && { children: t('Try again in {time}', { time: formatCountdown(waitSeconds) }) })}
      busy={mutation?.busy ?? false}
      aria-disabled={button['aria-disabled'] || isWaiting}
    />
  )
}

/** Does something beside what the form is for. */
export function MutationButton(props: SubmitButtonProps) {
  return <SubmitButton type="button" variant="outline" {...props} />
}

export function QueryError({ query: { error, refetch } }: { query: Query }) {
  return (
    error && (
      <Notice tone="error">
        <p>{formatError(error)}</p>
        <Button size="small" icon="refresh" text="Try again" onClick={refetch} />
      </Notice>
    )
  )
}

/** The message of the server, or what to do without an answer. */
export function formatError(error: Error): string {
  if (error instanceof NetworkFailure) {
    const host = new URL(error.origin, location.origin).host
    const who = host === location.host ? t('this instance') : host
    return error.timedOut
      ? t('No response from {who} in time. Try again.', { who })
      : t('Couldn’t reach {who}. Check your connection and try again.', { who })
  }
  if (error instanceof ApiError)
    return error.status === 503 && !/^(remote|provider)_/.test(error.code ?? '')
      ? t('This instance is busy. Try again in a moment.')
      : translateRefusal(error)
  if (error instanceof PasskeyFailure) return describePasskeyFailure(error)
  return t('Something went wrong. Please try again.')
}

function describePasskeyFailure({ reason, host }: PasskeyFailure): string {
  if (reason === 'exists') return t('This device already has a passkey for your account.')
  if (reason === 'other_address') return t('Passkeys for this instance work only at {host}.', { host })
  return t('The passkey request was canceled or didn’t work. Try again.')
}
