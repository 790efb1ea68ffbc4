import { createContext, use, useCallback, useRef, useState, type ReactNode } from 'react'
import { Icon } from './icon.tsx'

const Announce = createContext<(message: string) => void>(() => {})

/** Says a short message: shown at the foot of the page for some seconds, spoken politely. For success; errors stay in place. */
export function useAnnounce(): (message: string) => void {
  return use(Announce)
}

export function Announcer({ children }: { children: ReactNode }) {
  const [message, setMessage] = useState('')
  const timer = useRef<ReturnType<typeof setTimeout>>(undefined)
  const announce = useCallback((next: string) => {
    clearTimeout(timer.current)
    setMessage(next)
    timer.current = setTimeout(() => setMessage(''), 5000)
  }, [])
  return (
    <Announce value={announce}>
      {children}
      <div className="announcer" role="status">
        {message && (
          <p className="announcer__message">
            <Icon name="check" />
            {message}
          </p>
        )}
      </div>
    </Announce>
  )
}
