type Props = {
  name: string
  colour: string | null
  src?: string | null | undefined
  size?: 'small' | 'normal' | 'large'
  gone?: boolean
}

/** A person's window: their picture, else the first letter of their name on their colour. Decorative: the name stands beside. */
export function Avatar({ name, colour, src, size = 'normal', gone = false }: Props) {
  return (
    <span
      className={size === 'normal' ? 'avatar' : `avatar avatar--${size}`}
      data-colour={colour ?? 'mint'}
      data-gone={gone}
      aria-hidden="true"
    >
      {src ? <img src={src} alt="" /> : gone ? '–' : [...name.trim()][0]}
    </span>
  )
}
