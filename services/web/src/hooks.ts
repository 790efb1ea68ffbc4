import { type AdminChange, type Client, type IdentityDeletions, type InstanceInfo } from '@gatehouse/client'
import { isAborted, RateLimited } from '@gatehouse/client'
import { useStore } from '@gatehouse/client/react'
import { createContext, use, useCallback, useEffect, useRef, useState } from 'react'

/** What the components take from outside. */
export type AppContext = {
  client: Client
  now: () => number
  /** From 0 up to, not including, 1. */
  random: () => number
}

export const AppContext = createContext<AppContext | null>(null)

export function useAppContext(): AppContext {
  const context = use(AppContext)
  if (!context) throw new Error('AppContext has no value')
  return context
}

export const useClient = (): Client => useAppContext().client

export { useStore }

const createShared = <T>() => createContext<readonly [T | null, (value: T | null) => void]>([null, () => {}])

/** The login page shows it: the session's stores are cleared by then. */
export const DeletionReportContext = createShared<IdentityDeletions>()

/** Pages come and go; what somebody must read stays. */
export const BlockedCodesContext = createShared<{ userId: string; at: number }>()

export const ToastContext = createContext<(message: string) => void>(() => {})

/** For success only: errors are shown where they occur. */
export const useToast = () => use(ToastContext)

/** True from the loss of the live connection until it is there again. */
export function useConnectionLost(): boolean {
  const { phase, retryAt } = useStore(useClient().live)
  const [isLost, setLost] = useState(false)
  useEffect(() => {
    if (phase !== 'connecting') setLost(phase === 'waiting' && retryAt !== null)
  }, [phase, retryAt])
  return isLost
}

/** Whether the session was ended, and not by the user here. */
export function isEnded(client: Client): boolean {
  const { ended } = client.session.getSnapshot()
  return ended !== null && ended.reason !== 'logged_out'
}

/** What became of the entries in a dialog that was open when the session ended. */
export const openEntries: { outcome: 'kept' | 'lost' | null } = { outcome: null }

const toError = (failure: unknown) => (failure instanceof Error ? failure : new Error(String(failure)))

type Fetched<T> = { data: T | null; error: Error | null; loading: boolean }

/** Is aborted when its component goes. */
export type Work<T> = (signal: AbortSignal, client: Client) => Promise<T>

type Watched = AdminChange['what'] | 'any'

/**
 * Fetches again when `key` changes, when the live connection is back after a failure, and when an admin changes what is
 * `watched`. Contract: 6, watch.
 */
export function useQuery<T>(key: string, fetchData: Work<T>, watched?: Watched) {
  const client = useClient()
  const [fetched, setFetched] = useState<Fetched<T>>({ data: null, error: null, loading: true })
  const [refetches, setRefetches] = useState(0)
  const current = useRef<AbortController>(null)
  const change = (changed: Partial<Fetched<T>>) => setFetched((before) => ({ ...before, ...changed }))

  /** Replaces the request under way. */
  const load = (work: Work<T>) => {
    current.current?.abort()
    const { signal } = (current.current = new AbortController())
    change({ loading: true })
    work(signal, client).then(
      (data) => {
        if (!signal.aborted) change({ data, error: null, loading: false })
      },
      (failure: unknown) => {
        if (!signal.aborted && !isAborted(failure)) change({ error: toError(failure), loading: false })
      },
    )
  }
  useEffect(() => {
    load(fetchData)
    return () => current.current?.abort()
    // The key stands for everything that `fetchData` closes over.
  }, [key, refetches])

  const refetch = useCallback(() => setRefetches((count) => count + 1), [])
  useEffect(() => (watched ? watchAdmin(client, watched, refetch) : undefined), [client, watched, refetch])
  const hasFailed = fetched.error !== null
  useEffect(() => (hasFailed ? client.live.on('ready', refetch) : undefined), [client, hasFailed, refetch])
  return { ...fetched, refetch, setData: (data: T) => change({ data }), load }
}

export type Query = Pick<ReturnType<typeof useQuery>, 'error' | 'loading' | 'refetch'>

const gatherMs = 250

/** Several changes at once cause one fetch. */
function watchAdmin({ live }: Client, watched: Watched, refetch: () => void): () => void {
  let timer: ReturnType<typeof setTimeout> | undefined
  const end = live.watchAdmin((change) => {
    if (change && watched !== 'any' && change.what !== watched) return
    timer ??= setTimeout(() => {
      timer = undefined
      refetch()
    }, gatherMs)
  })
  return () => (end(), clearTimeout(timer))
}

let cached: InstanceInfo | null = null
let running: Promise<InstanceInfo> | null = null
const infoListeners = new Set<() => void>()

/** After a change of the settings: titles and the logo follow. */
export const refetchInstanceInfo = (): void => infoListeners.forEach((refetch) => refetch())

/** Cached between pages. `settled`: answered or failed. */
export function useInstanceInfo(): { info: InstanceInfo | null; settled: boolean } {
  const { data, loading, refetch } = useQuery('instance', async (_, client) => {
    running ??= client.call('instanceInfo').finally(() => (running = null))
    return (cached = await running)
  })
  useEffect(() => {
    infoListeners.add(refetch)
    return () => void infoListeners.delete(refetch)
  }, [refetch])
  return { info: data ?? cached, settled: !loading }
}

/**
 * `error`: of the last run; a rate limit sets `waitSeconds` instead, 0 when another attempt is allowed. `run` resolves to
 * the reply of the work, or to null if it failed, and says `done` of a reply. Unmounting aborts it without an error.
 */
export function useMutation() {
  const client = useClient()
  const showToast = useToast()
  const [busy, setBusy] = useState(false)
  const [error, setError] = useState<Error | null>(null)
  const [countdown] = useState(() => client.createCountdown())
  const waitSeconds = useStore(countdown)
  const current = useRef<AbortController>(null)
  useEffect(
    () => () => {
      current.current?.abort()
      countdown.stop()
    },
    [countdown],
  )

  const run = async <T>(work: Work<T>, done?: string | ((reply: T) => string)): Promise<{ reply: T } | null> => {
    if (current.current || waitSeconds > 0) return null
    const { signal } = (current.current = new AbortController())
    setBusy(true)
    setError(null)
    try {
      const reply = await work(signal, client)
      if (done) showToast(typeof done === 'string' ? done : done(reply))
      return { reply }
    } catch (failure) {
      if (failure instanceof RateLimited) countdown.start(failure.retryAfter)
      else if (!isAborted(failure)) setError(toError(failure))
      return null
    } finally {
      current.current = null
      setBusy(false)
    }
  }
  return { busy, error, waitSeconds, run, clear: () => setError(null) }
}

export type Mutation = ReturnType<typeof useMutation>
