import { client } from '../client.ts'
import { useStore } from '../hooks/use-store.ts'

const words = {
  off: 'Offline',
  connecting: 'Connecting…',
  ready: 'Connected',
  waiting: 'Connection lost, trying again…',
}

/** Whether the live connection is up, in words. */
export function LiveSign() {
  const { phase } = useStore(client.live)
  return <span role="status">{words[phase]}</span>
}
