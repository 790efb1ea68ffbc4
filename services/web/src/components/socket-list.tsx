import type { OpenSockets } from '@gatehouse/client'
import { describeUserAgent } from '@gatehouse/contracts/constants'
import { t } from '../language/language.ts'
import { formatDateTime } from './format.ts'
import { Badge } from './status.tsx'

type Socket = OpenSockets['sockets'][number]
type Props = { answer: Pick<OpenSockets, 'sockets' | 'incomplete'>; ownSessionId?: string | null }

export function SocketList({ answer, ownSessionId = null }: Props) {
  const ownFirst = (one: Socket, other: Socket) =>
    Number(other.sessionId === ownSessionId) - Number(one.sessionId === ownSessionId)
  return (
    <>
      <ul className="list">
        {[...answer.sockets].sort(ownFirst).map((socket) => (
          <li key={socket.sessionId} className="split-row">
            <span>
              <strong title={socket.userAgent}>{describeUserAgent(socket.userAgent) ?? t('Unknown app')}</strong>{' '}
              {socket.sessionId === ownSessionId && <Badge tone="good">{t('This tab')}</Badge>}
            </span>
            <span className="small muted">
              {socket.network} · {t('connected {time}', { time: formatDateTime(socket.connectedAt) })}
            </span>
          </li>
        ))}
      </ul>
      {answer.incomplete && (
        <p className="small muted" role="status">
          {t('This list may be incomplete because part of the instance didn’t respond in time.')}
        </p>
      )}
    </>
  )
}
