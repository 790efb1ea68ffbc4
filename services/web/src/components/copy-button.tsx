import { type ComponentProps, useState } from 'react'
import { Button } from './button.tsx'
import { t } from '../language/language.ts'

type Props = ComponentProps<typeof Button> & { text: string; label: string }

/** Plain http has no clipboard API: `execCommand` copies there. */
export function CopyButton({ text, label, ...button }: Props) {
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
        {copied ? t('Copied to the clipboard') : ''}
      </span>
    </>
  )
}

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
