import { useEffect, useState } from 'react'

/** A picture that was chosen but not sent: its bytes, and an address that shows it as long as it is chosen. */
export function usePicture(): { blob: Blob | null; src: string | null; set: (blob: Blob | null) => void } {
  const [blob, set] = useState<Blob | null>(null)
  const [src, setSrc] = useState<string | null>(null)
  useEffect(() => {
    const address = blob && URL.createObjectURL(blob)
    setSrc(address)
    return () => {
      if (address) URL.revokeObjectURL(address)
    }
  }, [blob])
  return { blob, src, set }
}
