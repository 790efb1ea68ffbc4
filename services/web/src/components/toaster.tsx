import { createContext, type ReactNode, use, useCallback, useRef, useState } from 'react'
import { Icon } from './icon.tsx'

const ToastContext = createContext<(message: string) => void>(() => {})

/** Shows a message at the bottom of the page for five seconds. For success only: errors are shown where they occur. */
export function useToast(): (message: string) => void {
  return use(ToastContext)
}

export function Toaster({ children }: { children: ReactNode }) {
  const [message, setMessage] = useState('')
  const timer = useRef<ReturnType<typeof setTimeout>>(undefined)
  const showToast = useCallback((next: string) => {
    clearTimeout(timer.current)
    setMessage(next)
    timer.current = setTimeout(() => setMessage(''), 5000)
  }, [])
  return (
    <ToastContext value={showToast}>
      {children}
      <div className="toast" role="status">
        {message && (
          <p className="toast__message">
            <Icon name="check" />
            {message}
          </p>
        )}
      </div>
    </ToastContext>
  )
}
