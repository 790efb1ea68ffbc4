import '../styles/link-field.css'
import { type ComponentProps, Suspense, useState } from 'react'
import { t } from '../language/language.ts'
import { Button } from './button.tsx'
import { lazyPart, showNothing } from './lazy-part.tsx'
import { Skeleton } from './status.tsx'

/** Its text is shown beside it. A reload would lose a secret that is shown once. */
export const QrCode = lazyPart(() => import('./qr-code.tsx').then((part) => part.QrCode), showNothing)

type CopyButtonProps = Omit<ComponentProps<typeof Button>, 'text'> & { text: string; label: string }

export function CopyButton({ text, label, ...button }: CopyButtonProps) {
  const [copied, setCopied] = useState(false)
  const copy = async () => {
    setCopied(await copyText(text))
    setTimeout(() => setCopied(false), 2500)
  }
  return (
    <>
      <Button {...button} icon={copied ? 'check' : 'copy'} aria-label={label} onClick={() => void copy()}>
        {copied ? t('Copied') : t('Copy')}
      </Button>
      <span className="visually-hidden" role="status">
        {copied ? t('Copied to clipboard') : ''}
      </span>
    </>
  )
}

/** Plain http has no clipboard API: `execCommand` copies there. */
async function copyText(text: string): Promise<boolean> {
  try {
    await navigator.clipboard.writeText(text)
    return true
  } catch {
    const focused = document.activeElement
    const field = document.createElement('textarea')
    field.value = text
    // Fields outside a modal dialog cannot be selected.
    const parent = document.querySelector('dialog[open]') ?? document.body
    parent.append(field)
    field.select()
    // eslint-disable-next-line @typescript-eslint/no-deprecated -- the only way without the clipboard API
    const done = document.execCommand('copy')
    field.remove()
    if (focused instanceof HTMLElement) focused.focus()
    return done
  }
}

type LinkProps = { url: string; name: string; id?: string; label: string; copyLabel: string; takesFocus?: boolean }

export function LinkField({ url, name, id = name, label, copyLabel, takesFocus = false }: LinkProps) {
  const [isScanned, setScanned] = useState(false)
  const qrLabel = t('QR code: {label}', { label })
  return (
    <div className="link-field">
      <div className="copy-field">
        <input
          className="input"
          readOnly
          name={name}
          id={id}
          autoComplete="off"
          value={url}
          aria-label={label}
          onFocus={(event) => event.target.select()}
        />
        <CopyButton text={url} label={copyLabel} {...(takesFocus && { 'data-first-focus': true })} />
        <Button text="QR code" aria-label={qrLabel} aria-expanded={isScanned} onClick={() => setScanned(!isScanned)} />
      </div>
      {isScanned && (
        <Suspense fallback={<Skeleton rows={1} of="card" />}>
          <QrCode text={url} label={qrLabel} />
        </Suspense>
      )}
    </div>
  )
}
