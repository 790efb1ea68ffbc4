import { useClient, useInstanceInfo } from '../hooks.ts'

/** The logo of the instance, else the product name: of one width, so that nothing shifts. */
export function Wordmark() {
  const { info } = useInstanceInfo()
  const client = useClient()
  if (info?.logo) return <img className="wordmark wordmark--logo" src={client.uploadUrl(info.logo)} alt={info.name} />
  return (
    <svg className="wordmark" viewBox="0 0 165 36" role="img" aria-label="Gatehouse">
      <path className="wordmark__highlight" d="M78 28v-7a6 6 0 0 1 12 0v7z" />
      <g className="wordmark__stroke">
        <path d="M16 13v15.5A6.5 6.5 0 0 1 4.6 32.9" />
        <circle cx="9" cy="20" r="7" />
        <circle cx="30" cy="20" r="7" />
        <path d="M37 13v15" />
        <path d="M46 6v18a4 4 0 0 0 4 4h2M42 13h10" />
        <path d="M56.5 20h14a7 7 0 1 0-2.05 4.95" />
        <path d="M78 5v23M78 21a6 6 0 0 1 12 0v7" />
        <circle cx="103" cy="20.5" r="7" />
        <path d="M116 13v8a6 6 0 0 0 12 0v-8M128 13v15" />
        <path d="M143.4 15.3c-.9-1.5-2.5-2.3-4.4-2.3-2.5 0-4.3 1.4-4.3 3.6 0 4.9 9.2 2.6 9.2 7.5 0 2.4-2 3.9-4.7 3.9-2.2 0-4-.9-5-2.6" />
        <path d="M149.5 20h13.8a7 7 0 1 0-2.05 4.95" />
      </g>
    </svg>
  )
}
