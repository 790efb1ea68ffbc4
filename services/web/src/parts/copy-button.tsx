import { useState } from 'react'
import { Button } from './button.tsx'

/** Copies text; where the clipboard is refused (plain http) it falls back to a selected field. */
export function CopyButton({ text, label, small = false }: { text: string; label: string; small?: boolean }) {
  const [copied, setCopied] = useState(false)
  const copy = async () => {
    setCopied(await copyText(text))
    setTimeout(() => setCopied(false), 2500)
  }
  return (
    <>
      <Button
        icon={copied ? 'check' : 'copy'}
        size={small ? 'small' : 'normal'}
        aria-label={label}
        onClick={() => void copy()}
      >
        {copied ? 'Copied' : 'Copy'}
      </Button>
      <span className="visually-hidden" role="status">
        {copied ? 'Copied to the clipboard' : ''}
      </span>
    </>
  )
}

async function copyText(text: string): Promise<boolean> {
  try {
    await navigator.clipboard.writeText(text)
    return true
  } catch {
    const field = document.createElement('textarea')
    field.value = text
    // Inside an open dialog, so that the modal's inertness does not keep the field from being selected.
    const home = document.querySelector('dialog[open]') ?? document.body
    home.append(field)
    field.select()
    const done = document.execCommand('copy')
    field.remove()
    return done
  }
}
