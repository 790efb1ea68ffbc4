import { lazy, Suspense, useState } from 'react'
import { t } from '../language/language.ts'
import { Button } from './button.tsx'
import { CopyButton } from './copy-button.tsx'
import { Skeleton } from './status.tsx'

const QrCode = lazy(() => import('./qr-code.tsx').then((module) => ({ default: module.QrCode })))

type Props = { url: string; name: string; id?: string; label: string; copyLabel: string; takesFocus?: boolean }

/** A link to copy, or to scan. */
export function LinkField({ url, name, id = name, label, copyLabel, takesFocus = false }: Props) {
  const [isScanned, setScanned] = useState(false)
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
        <Button
          aria-label={t('QR code: {label}', { label })}
          aria-expanded={isScanned}
          onClick={() => setScanned(!isScanned)}
        >
          {t('QR code')}
        </Button>
      </div>
      {isScanned && (
        <Suspense fallback={<Skeleton rows={1} of="card" />}>
          <QrCode text={url} label={t('QR code: {label}', { label })} />
        </Suspense>
      )}
    </div>
  )
}
